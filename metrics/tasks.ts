// What a hub does by itself, again and again: when it last went well, and how often it did not.
import type { Count } from './counter.ts';
import type { Sample } from './family.ts';
import type { Metrics } from './metrics.ts';

export type Task = { succeeded(): void; failed(): void };

/** `of` makes a task; until it succeeds, it counts from then. */
export function createTasks(metrics: Metrics): { of(name: string): Task } {
  const lastMs = new Map<string, number>();
  metrics.gauge(
    {
      name: 'hub_task_last_success_timestamp_seconds',
      help: 'When a task of the hub last went well, in seconds since 1970 by the clock of its machine; of several processes the earliest.',
      together: 'min',
    },
    () => Array.from(lastMs, ([task, ms]): Sample => ({ labels: { task }, value: ms / 1_000 })),
  );
  const failures = metrics.counter({
    name: 'hub_task_failures_total',
    help: 'How often a task of the hub failed; each is tried again.',
    labels: ['task'],
  });
  return {
    of(name) {
      const failed: Count = failures.of(name);
      const succeeded = (): void => {
        lastMs.set(name, Date.now());
      };
      succeeded();
      return { succeeded, failed: () => failed.add() };
    },
  };
}
