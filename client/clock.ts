// The clock of the client, which tests replace.

export type Clock = {
  /** Wall-clock time: milliseconds since 1970-01-01T00:00:00Z, like `Date.now()`. */
  now(): number;
  /** Monotonic time: milliseconds since an arbitrary moment, like `performance.now()`. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds. Must not keep the process alive. Returns a function that cancels it. */
  timer(run: () => void, ms: number): () => void;
};

/** @internal */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(run, ms) {
    const timer = setTimeout(run, ms);
    (timer as unknown as { unref?: () => void }).unref?.(); // an object in Node, a plain number in browsers
    return () => clearTimeout(timer);
  },
};
