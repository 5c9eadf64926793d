// Shares one asynchronous read among concurrent callers.

/**
 * Wraps `read` so that at most one call runs at a time, and its result or error is reused for `maxAgeMs` after it
 * ended.
 */
export function shareRead<T>(read: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let last: Promise<T> | undefined;
  let validUntil = Number.POSITIVE_INFINITY;
  return () => {
    if (last !== undefined && performance.now() < validUntil) return last;
    validUntil = Number.POSITIVE_INFINITY;
    const startAging = (): void => {
      validUntil = performance.now() + maxAgeMs;
    };
    last = read();
    last.then(startAging, startAging);
    return last;
  };
}
