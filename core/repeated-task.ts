// Repeats background tasks until the hub stops.
import type { Logger } from 'pino';
import type { Task } from '../lib/metrics/tasks.ts';

export type RepeatedTaskOptions = {
  /** From the end of a pass to the next one. */
  readonly everyMs: number;
  readonly pass: () => Promise<void>;
  readonly task: Task;
  readonly logger: Logger;
  /** `repeatTask` logs it for the first of several failures in a row. */
  readonly failureMessage: string;
};

/** Starts the first pass at once, and never two at a time. `stop` waits for the current one. */
export function repeatTask({ everyMs, pass, task, logger, failureMessage }: RepeatedTaskOptions): {
  stop(): Promise<void>;
} {
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;

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
    if (!stopped) timer = setTimeout(run, everyMs);
  };
  let running: Promise<void> = Promise.resolve();
  const run = (): void => {
    running = attempt();
  };
  run();

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/**
 * Starts the first pass at once, and the next one after `everyMs` or when it is woken. Logs each failure.
 * `stop` waits for the current pass.
 */
export function repeatWhenWoken({ everyMs, pass, task, logger, failureMessage }: RepeatedTaskOptions) {
  let stopped = false;
  let wake = (): void => {};
  const run = async (): Promise<void> => {
    while (!stopped) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      try {
        await pass();
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, failureMessage);
      }
      const timer = setTimeout(wake, everyMs);
      if (!stopped) await woken.promise;
      clearTimeout(timer);
    }
  };
  const loop = run();
  return {
    wake: (): void => wake(),
    async stop(): Promise<void> {
      stopped = true;
      wake();
      await loop;
    },
  };
}
