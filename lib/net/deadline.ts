// Limits the total time of an exchange.

/**
 * Runs `work` with a signal that aborts after `limitMs`, with a TimeoutError, and when `ending` aborts, with
 * its reason. It leaves no timer and no listener behind.
 */
export async function withDeadline<T>(
  limitMs: number,
  ending: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // AbortSignal.timeout and AbortSignal.any keep a timer until the timeout, even after an early answer.
  const exchange = new AbortController();
  const abort = (): void => exchange.abort(ending?.reason);
  const timer = setTimeout(() => exchange.abort(new DOMException('too late', 'TimeoutError')), limitMs);
  try {
    if (ending?.aborted) abort();
    ending?.addEventListener('abort', abort);
    return await work(exchange.signal);
  } finally {
    clearTimeout(timer);
    ending?.removeEventListener('abort', abort);
  }
}

/** Resolves with the result of `work`, which takes no signal. Rejects with the reason of `signal` once it aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
