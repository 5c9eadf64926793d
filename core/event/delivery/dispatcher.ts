// Finds the endpoints with due deliveries once a second, and delivers to each concurrently, so that a slow
// endpoint delays no other.
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { formatId } from '../../ids.ts';
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
  /** Aborts attempts in progress. */
  readonly abortAttempts: AbortController;
  readonly logger: Logger;
  readonly task: Task;
};

export type Dispatcher = {
  /** Looks for due deliveries at once. */
  wake(): void;
  /** Aborts attempts in progress. They do not count as failures. */
  stop(): Promise<void>;
};

const EVERY_MS = 1_000;

export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { pool, clock, logger, task } = options;
  const endpoints = new Set<string>();
  const running = new Set<Promise<void>>();
  let stopped = false;
  let wake = (): void => {};
  const finish = createBatcher<FinishedDelivery, void>({
    maxSize: 128,
    maxInFlight: 2,
    run: async (finished) => {
      await finishDeliveries(pool, finished);
      return finished.map(() => undefined);
    },
  });

  const isHeld = createBatcher<ClaimedDelivery, boolean>({
    maxSize: 128,
    maxInFlight: 2,
    run: (deliveries) => areHeld(pool, deliveries),
  });

  const start = (endpoint: DueEndpoint): void => {
    endpoints.add(endpoint.id);
    const delivering = deliverToEndpoint({ ...options, finish, isHeld, isStopped: () => stopped }, endpoint)
      .catch((err) => {
        logger.warn({ err, endpointId: formatId('whe', endpoint.id) }, 'cannot deliver events');
        return false;
      })
      .then((more) => {
        endpoints.delete(endpoint.id);
        running.delete(delivering);
        if (more) wake();
      });
    running.add(delivering);
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      try {
        const due = await findDueEndpoints(pool, clock());
        for (const endpoint of due) if (!endpoints.has(endpoint.id)) start(endpoint);
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, 'cannot read the due deliveries');
      }
      const timer = setTimeout(wake, EVERY_MS);
      if (!stopped) await woken.promise;
      clearTimeout(timer);
    }
  };
  const loop = run();

  return {
    wake: () => wake(),
    async stop() {
      stopped = true;
      wake();
      await loop;
      options.abortAttempts.abort();
      await Promise.all(running);
      await options.sender.close();
    },
  };
}
