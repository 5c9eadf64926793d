// Time, as the client sees it. Tests put in their own.

/** Every time and duration is in milliseconds. */
export type Clock = {
  /** The machine's time of day, which its user can set: milliseconds since 1970-01-01T00:00:00Z, like `Date.now()`. */
  now(): number;
  /** Milliseconds since any fixed moment, which nobody can set back, like `performance.now()`. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds, and keeps no process alive for it. Returns a function that cancels it. */
  timer(run: () => void, ms: number): () => void;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(run, ms) {
    const timer = setTimeout(run, ms);
    (timer as unknown as { unref?: () => void }).unref?.(); // an object in Node, a plain number in browsers
    return () => clearTimeout(timer);
  },
};
