// Reads the Retry-After header of a response (RFC 9110 section 10.2.3).

const MAX_MS = 24 * 60 * 60 * 1000;

/** Returns the pause in milliseconds, from 0 to a day; undefined if the header is invalid. */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : httpDate(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_MS);
}

/** Parses `Sun, 06 Nov 1994 08:49:37 GMT` to milliseconds since 1970. NaN for any other format. */
function httpDate(value: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)
    ? Date.parse(value)
    : NaN;
}
