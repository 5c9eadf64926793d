// Repeats a background task until the hub stops.
import type { Logger } from 'pino';
import type { Task } from '../lib/metrics/tasks.ts';

export type RepeatedTaskOptions = {
  /** From the end of a pass to the next one. */
  readonly everyMs: number | (() => number);
  readonly pass: () => Promise<void>;
  readonly task: Task;
  readonly logger: Logger;
  /** Logged for the first of several failures in a row. */
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
    if (!stopped) timer = setTimeout(run, typeof everyMs === 'number' ? everyMs : everyMs());
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
