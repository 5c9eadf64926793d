// Time, as the client sees it. Tests put in their own.

export type Clock = {
  /** The machine's time of day, which its user can set: milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since any moment, which nobody can set back. */
  monotonic(): number;
  /** Calls `run` once after so many milliseconds, and keeps no process alive for it. Returns how to call it off. */
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
