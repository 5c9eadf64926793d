// How a provider rates a payment, in words.

/** `1 (High Risk)`; undefined if the provider has rated none. */
export function riskText(level: number | undefined, title: string | undefined): string | undefined {
  if (level === undefined) return undefined;
  return title ? `${level} (${title})` : String(level);
}
