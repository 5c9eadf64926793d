// Keeps what may happen a thousand times a second from filling the log.

/** `tell` once, and then not again for `quietMs`, however often it is called. */
export function nowAndThen<T>(quietMs: number, tell: (about: T) => void): (about: T) => void {
  let quietUntil = 0;
  return (about) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + quietMs;
    tell(about);
  };
}
