// Metrics of background tasks: the last success, and the number of failures.
import type { Sample } from './family.ts';
import type { Metrics } from './metrics.ts';

export type Task = { succeeded(): void; failed(): void };

/** `of` creates a task. Its last success is the time of creation until it succeeds. */
export function createTasks(metrics: Metrics): { of(name: string): Task } {
  const lastMs = new Map<string, number>();
  metrics.gauge(
    {
      name: 'hub_task_last_success_timestamp_seconds',
      help: 'Time of the last success of a task of the hub, in seconds since 1970 by the clock of its machine; of several processes the earliest.',
      aggregator: 'min',
      labelNames: ['task'],
    },
    () => Array.from(lastMs, ([task, ms]): Sample => ({ labels: { task }, value: ms / 1_000 })),
  );
  const failures = metrics.counter({
    name: 'hub_task_failures_total',
    help: 'Failures of a task of the hub. Each failure is retried.',
    labelNames: ['task'],
  });
  return {
    of(name) {
      const failed = failures.labels(name);
      failed.inc(0);
      const succeeded = (): void => {
        lastMs.set(name, Date.now());
      };
      succeeded();
      return { succeeded, failed: () => failed.inc() };
    },
  };
}
