// The delay before the hub calls a provider again that gave no answer.

export type RetryDelayLimits = { readonly retryDelayMs: number; readonly retryDelayMaxMs: number };

/**
 * Milliseconds until the next call: as many as it has waited so far, so that delays double, within the
 * limits.
 */
export function retryDelay(waitedMs: number, { retryDelayMs, retryDelayMaxMs }: RetryDelayLimits): number {
  return Math.min(Math.max(waitedMs, retryDelayMs), retryDelayMaxMs);
}
