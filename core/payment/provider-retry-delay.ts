// The delay before the hub calls a provider again that gave no answer.
import { DAY_MS, HOUR_MS } from '../clock.ts';

export type RetryDelay = {
  /** Milliseconds until the first repetition. */
  readonly retryDelayMs: number;
};

export const RETRY_DELAY_MAX_MS = HOUR_MS;
/** Then the hub gives up a callback, and the check of a paid session for duplicate payments. */
export const GIVE_UP_AFTER_MS = DAY_MS;

/**
 * Milliseconds until the next call: as many as it has waited so far, so that delays double, within the
 * limits.
 */
export function retryDelay(waitedMs: number, { retryDelayMs }: RetryDelay): number {
  return Math.min(Math.max(waitedMs, retryDelayMs), RETRY_DELAY_MAX_MS);
}
