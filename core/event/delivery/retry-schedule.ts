// When a failed delivery is tried again: nine times, over three days.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Milliseconds after each failed attempt. */
export const RETRY_AFTER_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;
/** An endpoint whose deliveries have failed for so long is disabled. */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;
/** Spreads retries, so that deliveries that failed together are not repeated together. */
const JITTER = 0.2;

/**
 * Milliseconds until the next attempt; undefined after the last one.
 *
 * @param attempts attempts so far, at least 1
 * @param retryAfterMs what the endpoint asked for; a longer wait counts, up to a day
 * @param random from 0 to 1
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random = Math.random(),
): number | undefined {
  const delayMs = RETRY_AFTER_MS[attempts - 1];
  if (delayMs === undefined) return undefined;
  const wantedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(delayMs, wantedMs) * (1 + random * JITTER);
}
