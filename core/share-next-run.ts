// Lets concurrent callers share a run that has not begun.

/**
 * Returns a function that runs `run`, for each key one at a time. Calls during a run share the next one: the
 * current run may have begun before the caller's change was committed. A failed run does not fail the next.
 */
export function shareNextRun<Key>(run: (key: Key) => Promise<void>): (key: Key) => Promise<void> {
  /** For each key, the run that has not begun. */
  const waiting = new Map<Key, Promise<void>>();
  /** For each key, the latest run. */
  const last = new Map<Key, Promise<void>>();
  return (key) => {
    const next = waiting.get(key);
    if (next !== undefined) return next;
    const previous = last.get(key)?.catch(() => {}) ?? Promise.resolve();
    const result = previous
      .then(() => {
        waiting.delete(key);
        return run(key);
      })
      .finally(() => last.get(key) === result && last.delete(key));
    waiting.set(key, result);
    last.set(key, result);
    return result;
  };
}
