// The background loop: runs a task repeatedly, after the pause that the task returns.

import type { Signal } from './abort-signal.ts';
import type { Clock } from './clock.ts';

export type Loop = { start(): void; stop(): Promise<void> };

export type LoopOptions = {
  readonly clock: Clock;
  /** Resolves to the milliseconds until the next run. */
  readonly run: (signal: Signal) => Promise<number>;
  readonly onError: (error: unknown) => void;
};

/** `most` bounds how late the loop notices that the machine slept or its clock was set. */
const PAUSE_MS = { least: 1_000, most: 5 * 60_000 };

export function createLoop({ clock, run, onError }: LoopOptions): Loop {
  let running: AbortController | undefined;
  let currentRun: Promise<void> = Promise.resolve();
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
      currentRun = turn(own);
    }, ms);
  };

  return {
    start() {
      if (running !== undefined) return;
      running = new AbortController();
      currentRun = turn(running);
    },
    async stop() {
      running?.abort();
      running = undefined;
      cancelTimer();
      await currentRun;
    },
  };
}
