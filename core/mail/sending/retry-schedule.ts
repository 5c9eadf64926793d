// The schedule of retries: nine, over about a day.
import { HOUR_MS, MINUTE_MS } from '../../clock.ts';

/** Milliseconds from each failed attempt to the next one. */
export const RETRY_AFTER_MS: readonly number[] = [
  30_000,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  6 * HOUR_MS,
  8 * HOUR_MS,
];
/** The largest random part that is added to a delay, so that mails that failed together are retried apart. */
const JITTER = 0.2;

/**
 * Milliseconds until the next attempt; undefined after the last one.
 *
 * @param attempts attempts so far, at least 1
 * @param random from 0 to 1
 */
export function retryDelayMs(attempts: number, random = Math.random()): number | undefined {
  const delayMs = RETRY_AFTER_MS[attempts - 1];
  return delayMs === undefined ? undefined : delayMs * (1 + random * JITTER);
}
