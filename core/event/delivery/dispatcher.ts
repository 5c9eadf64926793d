// Finds the endpoints with due deliveries once a second, and delivers to each concurrently, so that a slow
// endpoint delays no other.
import type { Task } from '../../../lib/metrics/tasks.ts';
import { formatId } from '../../ids.ts';
import { repeatWhenWoken } from '../../repeated-task.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import {
  areHeld,
  type ClaimedDelivery,
  type DueEndpoint,
  type FinishedDelivery,
  findDueEndpoints,
  finishDeliveries,
} from './claim-deliveries.ts';
import { type DeliverOptions, deliverToEndpoint } from './deliver-to-endpoint.ts';

export type DispatcherOptions = Omit<DeliverOptions, 'finish' | 'isHeld' | 'isStopped'> & {
  readonly abortAttempts: AbortController;
  readonly task: Task;
};

const EVERY_MS = 1_000;

export function startDispatcher(options: DispatcherOptions) {
  const { pool, clock, logger, task } = options;
  const endpoints = new Set<string>();
  const running = new Set<Promise<void>>();
  let stopped = false;
  const finish = createBatcher<FinishedDelivery, void>({
    run: async (finished) => {
      await finishDeliveries(pool, finished);
      return finished.map(() => undefined);
    },
  });

  const isHeld = createBatcher<ClaimedDelivery, boolean>({ run: (deliveries) => areHeld(pool, deliveries) });

  const start = (endpoint: DueEndpoint): void => {
    endpoints.add(endpoint.id);
    const delivering = deliverToEndpoint({ ...options, finish, isHeld, isStopped: () => stopped }, endpoint)
      .catch((err) => {
        task.failed();
        logger.warn({ err, endpointId: formatId('whe', endpoint.id) }, 'cannot deliver events');
        return false;
      })
      .then((more) => {
        endpoints.delete(endpoint.id);
        running.delete(delivering);
        if (more) repeated.wake();
      });
    running.add(delivering);
  };

  const repeated = repeatWhenWoken({
    everyMs: EVERY_MS,
    async pass() {
      const due = await findDueEndpoints(pool, clock());
      for (const endpoint of due) if (!endpoints.has(endpoint.id)) start(endpoint);
    },
    task,
    logger,
    failureMessage: 'cannot read the due deliveries',
  });

  return {
    /** Looks for due deliveries at once. */
    wake: repeated.wake,
    /** Aborts attempts in progress. They do not count as failures. */
    async stop(): Promise<void> {
      stopped = true;
      await repeated.stop();
      options.abortAttempts.abort();
      await Promise.all(running);
      await options.sender.close();
    },
  };
}
