// Limits how often a repeated event is logged.

/** Wraps `report` so that after a call, further calls within `quietMs` are dropped. */
export function throttle<T>(quietMs: number, report: (event: T) => void): (event: T) => void {
  let quietUntil = 0;
  return (event) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + quietMs;
    report(event);
  };
}
