// Formats the risk rating of a payment.

/** `1 (High Risk)`; undefined without a rating. */
export function riskText(level: number | undefined, title: string | undefined): string | undefined {
  if (level === undefined) return undefined;
  return title ? `${level} (${title})` : String(level);
}
