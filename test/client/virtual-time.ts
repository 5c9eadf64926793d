// Time that only tests move: one for everybody, and a clock on each machine that its user can set.
import type { Clock } from '../../client/clock.ts';

export type VirtualTime = {
  /** For the hub, which is right. */
  readonly date: () => Date;
  /** What a machine's clock shows beyond the right time, in milliseconds; its user can change it. */
  machineClock(): Clock & { ahead: number };
  /** Lets time pass; timers go off on their way. */
  advance(ms: number): void;
};

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export function createVirtualTime(begin = '2026-05-01T12:00:00.000Z'): VirtualTime {
  const began = Date.parse(begin);
  let time = began;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    date: () => new Date(time),
    machineClock: () => ({
      ahead: 0,
      now() {
        return time + this.ahead;
      },
      monotonic: () => time - began,
      timer(run, ms) {
        const timer = { at: time + ms, run };
        timers.add(timer);
        return () => timers.delete(timer);
      },
    }),
    advance(ms) {
      const end = time + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        time = Math.max(time, next.at);
        next.run();
      }
      time = end;
    },
  };
}
