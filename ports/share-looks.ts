// One look at something for all who ask at the same time.

/**
 * Makes `look` one that is shared: there is one at a time, and what it found is good for `maxAgeMs` after it ended.
 * However often it is asked for, `look` is called about once in that time; what it rejects with is shared as well.
 */
export function shareLooks<T>(look: () => Promise<T>, maxAgeMs: number): () => Promise<T> {
  let last: Promise<T> | undefined;
  let goodUntil = Number.POSITIVE_INFINITY;
  return () => {
    if (last !== undefined && performance.now() < goodUntil) return last;
    goodUntil = Number.POSITIVE_INFINITY;
    const age = (): void => {
      goodUntil = performance.now() + maxAgeMs;
    };
    last = look();
    last.then(age, age);
    return last;
  };
}
