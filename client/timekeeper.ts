// What time it is at least, whatever the machine's clock says: licenses are not prolonged by setting it back.
import type { Clock } from './clock.ts';

export type Timekeeper = {
  /** It is at least this late: a license was issued then, or somebody worked with one. Never lowers what is known. */
  note(time: number): void;
  /** It is this late: the hub has just said so. */
  confirm(time: number): void;
  read(): Reading;
};

export type Reading = {
  /** The later of the machine's time and of what is known. */
  readonly now: number;
  /** The clock is behind what is known by more than the tolerance, and the hub has not been heard since. */
  readonly isSetBack: boolean;
};

/**
 * What is known moves on with the monotonic clock, so a license runs out while an application is in use, whatever is
 * done to the time of day. An answer of the hub replaces what was known: a machine, or a hub, that once had a time
 * in the future is not locked out for longer than until then. It also tells how far the machine's clock lags, which
 * is allowed for from then on, until the clock is right by itself.
 */
export function createTimekeeper(clock: Clock, toleranceMs: number): Timekeeper {
  let known = { time: Number.NEGATIVE_INFINITY, at: 0 };
  let lag = 0;
  const atLeast = (): number => known.time + clock.monotonic() - known.at;
  const know = (time: number): void => {
    known = { time, at: clock.monotonic() };
  };
  return {
    note(time) {
      if (time > atLeast()) know(time);
    },
    confirm(time) {
      know(time);
      lag = Math.max(0, time - clock.now());
    },
    read() {
      const least = atLeast();
      const shown = clock.now();
      const now = shown < least - toleranceMs ? shown + lag : shown;
      return { now: Math.max(now, least), isSetBack: now < least - toleranceMs };
    },
  };
}
