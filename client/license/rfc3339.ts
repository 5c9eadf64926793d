// Parses and formats RFC 3339 timestamps in UTC with milliseconds.

/** Milliseconds since the epoch; undefined unless the text has the form `2026-01-02T03:04:05.678Z` and the date exists. */
export function parseRfc3339(text: unknown): number | undefined {
  // The length excludes years after 9999, such as `+010000-…`.
  if (typeof text !== 'string' || text.length !== '2026-01-02T03:04:05.678Z'.length) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) || new Date(time).toISOString() !== text ? undefined : time;
}

/** Clamps times outside the years 1970 to 9999, which a wrong clock may return. */
export function formatRfc3339(time: number): string {
  return new Date(Math.min(Math.max(time, 0), LAST)).toISOString();
}

const LAST = Date.parse('9999-12-31T23:59:59.999Z');
