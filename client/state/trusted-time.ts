// Trusted time: detects a machine clock that was set back to prolong a license. All times are milliseconds.
import type { Clock } from '../clock.ts';

export type TrustedTime = ReturnType<typeof createTrustedTime>;

export type TimeReading = {
  /** The later of the machine's time and the known time. */
  readonly now: number;
  /** The clock is behind the known time by more than the tolerance, and the hub has not corrected it. */
  readonly isSetBack: boolean;
};

/**
 * The known time advances with the monotonic clock, so a license ends while the application runs, even if the user sets
 * the clock back. An answer of the hub replaces the known time, so a wrong time in the future locks nobody out for long.
 * It also measures how far the machine's clock lags, and read() corrects for that lag until the clock is right.
 */
export function createTrustedTime(clock: Clock, toleranceMs: number) {
  let known = { time: Number.NEGATIVE_INFINITY, at: 0 };
  let lag = 0;
  const atLeast = (): number => known.time + clock.monotonic() - known.at;
  const know = (time: number): void => {
    known = { time, at: clock.monotonic() };
  };
  return {
    /** Raises the known time to `time`; never lowers it. */
    advanceTo(time: number): void {
      if (time > atLeast()) know(time);
    },
    /** Sets the known time to a recorded time, as at the start of a process. */
    startAt: know,
    /** Sets the known time to the time of the hub. */
    set(time: number): void {
      know(time);
      lag = Math.max(0, time - clock.now());
    },
    read(): TimeReading {
      const least = atLeast();
      const shown = clock.now();
      const now = shown < least - toleranceMs ? shown + lag : shown;
      return { now: Math.max(now, least), isSetBack: now < least - toleranceMs };
    },
  };
}
