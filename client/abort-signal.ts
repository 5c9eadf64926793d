// Abort signals.

/** AbortSignal of the DOM or Node.js types, whichever the application compiles with. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : { readonly aborted: boolean };

/** Rejects when the signal is aborted, even if `work` ignores the signal. @internal */
export function unlessAborted<T>(signal: Signal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
