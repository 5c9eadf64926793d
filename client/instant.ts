// Times as the hub writes them: RFC 3339 in UTC with milliseconds.

/** Milliseconds since the epoch; undefined for any text but `2026-01-02T03:04:05.678Z`, of a day that exists. */
export function parseInstant(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text))
    return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) || new Date(time).toISOString() !== text ? undefined : time;
}

/** The nearest time that has such a text: a machine's clock may be anywhere. */
export function writeInstant(time: number): string {
  return new Date(Math.min(Math.max(time, 0), LAST)).toISOString();
}

const LAST = Date.parse('9999-12-31T23:59:59.999Z');
