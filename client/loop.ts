// The background loop: runs a task again and again, whenever the task says.
import type { Clock } from './clock.ts';
import type { Signal } from './signal.ts';

export type Loop = { start(): void; stop(): Promise<void> };

export type LoopOptions = {
  readonly clock: Clock;
  /** Resolves to the milliseconds until it wants to run again. */
  readonly run: (signal: Signal) => Promise<number>;
  readonly onError: (error: unknown) => void;
};

/** A machine that slept, or whose clock was set, is noticed after this long at most. The time is saved as often. */
const PAUSE_MS = { least: 1_000, most: 5 * 60_000 };

export function createLoop({ clock, run, onError }: LoopOptions): Loop {
  let running: AbortController | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let cancelTimer = (): void => {};

  const turn = async (own: AbortController): Promise<void> => {
    let pause = PAUSE_MS.most;
    try {
      pause = await run(own.signal);
    } catch (error) {
      if (!own.signal.aborted) onError(error);
    }
    if (own.signal.aborted) return;
    const ms = Math.min(Math.max(pause, PAUSE_MS.least), PAUSE_MS.most);
    cancelTimer = clock.timer(() => {
      underWay = turn(own);
    }, ms);
  };

  return {
    start() {
      if (running !== undefined) return;
      running = new AbortController();
      underWay = turn(running);
    },
    async stop() {
      running?.abort();
      running = undefined;
      cancelTimer();
      await underWay;
    },
  };
}
