// What a hub does by itself, again and again, until it stops.
import type { Logger } from 'pino';
import type { Task } from '../metrics/tasks.ts';

export type RepeatedTaskOptions = {
  /** From the end of a pass to the next one. */
  readonly everyMs: number;
  readonly pass: () => Promise<void>;
  readonly task: Task;
  readonly logger: Logger;
  /** What is logged of the first pass that fails in a row. */
  readonly complaint: string;
};

/** The first pass begins at once; there are never two at a time. `stop` waits for the one under way. */
export function repeatTask({ everyMs, pass, task, logger, complaint }: RepeatedTaskOptions): {
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
      if (!failing) logger.warn({ err: error }, complaint);
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
