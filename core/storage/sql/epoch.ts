// Reads times in SQL: the ORM makes the driver return them as text.

/** SQL: a time as milliseconds since 1970, a number in JavaScript. */
export function epochMs(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::float8`;
}

export function dateOf(ms: number): Date;
export function dateOf(ms: number | null): Date | null;
export function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
