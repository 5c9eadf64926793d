// Signals by which a caller gives up.

/** The AbortSignal of the application's types, be they those of the DOM, those of Node.js, or neither. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : { readonly aborted: boolean };

/** Rejects when the signal comes, also if what is under way does not heed it. */
export function unlessAborted<T>(signal: Signal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
