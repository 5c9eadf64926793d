// Repeats background tasks until the hub stops.
import type { Logger } from 'pino';
import type { Task } from '../lib/metrics/tasks.ts';

export type RepeatedTaskOptions = {
  /** Milliseconds from the end of a pass to the next one, except for the first two passes. */
  readonly everyMs: number;
  /** The first pass starts at a random time within these milliseconds. Default: 250, at most `everyMs`. */
  readonly firstWithinMs?: number;
  readonly pass: () => Promise<void>;
  readonly task: Task;
  readonly logger: Logger;
  /** `repeatTask` logs it for the first of several failures in a row. */
  readonly failureMessage: string;
};

const FIRST_WITHIN_MS = 250;

/**
 * Returns a function that returns the next pause, in milliseconds. Tasks that run at the same time need a
 * connection each, so the first pause is random, and the second one is a random part of the interval.
 */
function createPauses({
  everyMs,
  firstWithinMs = Math.min(FIRST_WITHIN_MS, everyMs),
}: Pick<RepeatedTaskOptions, 'everyMs' | 'firstWithinMs'>): () => number {
  const random = [firstWithinMs, everyMs].map((ms) => Math.random() * ms);
  return () => random.shift() ?? everyMs;
}

/** Runs one pass at a time. `stop` waits for the current one. */
export function repeatTask(options: RepeatedTaskOptions): { stop(): Promise<void> } {
  const { pass, task, logger, failureMessage } = options;
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  const pauseMs = createPauses(options);

  const attempt = async (): Promise<void> => {
    try {
      await pass();
      failing = false;
      task.succeeded();
    } catch (error) {
      task.failed();
      if (!failing) logger.warn({ err: error }, failureMessage);
      failing = true;
    }
    scheduleNext();
  };
  let running: Promise<void> = Promise.resolve();
  const run = (): void => {
    running = attempt();
  };
  const scheduleNext = (): void => {
    if (!stopped) timer = setTimeout(run, pauseMs());
  };
  scheduleNext();

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** The same, but starts the next pass at once when it is woken, and logs each failure. */
export function repeatWhenWoken(options: RepeatedTaskOptions) {
  const { pass, task, logger, failureMessage } = options;
  let stopped = false;
  let woken = Promise.withResolvers<void>();
  const pauseMs = createPauses(options);
  const pause = async (): Promise<void> => {
    const timer = setTimeout(woken.resolve, pauseMs());
    await woken.promise;
    clearTimeout(timer);
  };
  const run = async (): Promise<void> => {
    await pause();
    while (!stopped) {
      woken = Promise.withResolvers(); // a wake during the pass starts the next one at once
      try {
        await pass();
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, failureMessage);
      }
      await pause();
    }
  };
  const loop = run();
  return {
    wake: (): void => woken.resolve(),
    async stop(): Promise<void> {
      stopped = true;
      woken.resolve();
      await loop;
    },
  };
}
