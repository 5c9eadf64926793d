// The schedule of retries: nine, over three days.
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../clock.ts';

/** Milliseconds from each failed attempt to the next one. */
export const RETRY_AFTER_MS: readonly number[] = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
const MAX_RETRY_AFTER_MS = DAY_MS;
/** The hub disables an endpoint after all its deliveries have failed for this time. */
export const DISABLE_AFTER_MS = 72 * HOUR_MS;
/**
 * The largest random part that is added to a delay, so that deliveries that failed together are retried
 * apart.
 */
const JITTER = 0.2;

/**
 * Milliseconds until the next attempt; undefined after the last one.
 *
 * @param attempts attempts so far, at least 1
 * @param retryAfterMs the delay that the endpoint requested; it applies if it is longer, up to a day
 * @param random from 0 to 1
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  random = Math.random(),
): number | undefined {
  const delayMs = RETRY_AFTER_MS[attempts - 1];
  if (delayMs === undefined) return undefined;
  const requestedMs = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(delayMs, requestedMs) * (1 + random * JITTER);
}
