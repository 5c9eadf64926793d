// Delivers events to endpoints. Each endpoint has its own places, so that a slow one delays only itself.
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { type DueEndpoint, type FinishedDelivery, findDueEndpoints, finishDeliveries } from './queue.ts';
import { type ServeOptions, serveEndpoint } from './serve-endpoint.ts';

export type DeliverOptions = Omit<ServeOptions, 'finish' | 'isStopped'> & {
  /** Stops attempts in progress. */
  readonly ending: AbortController;
  readonly logger: Logger;
  readonly task: Task;
};

export type Deliveries = {
  /** Looks for due deliveries now. */
  wake(): void;
  /** Stops attempts in progress; they do not count as failures. */
  stop(): Promise<void>;
};

const EVERY_MS = 1_000;

export function startDeliveries(options: DeliverOptions): Deliveries {
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

  const start = (endpoint: DueEndpoint): void => {
    endpoints.add(endpoint.id);
    const serving = serveEndpoint({ ...options, finish, isStopped: () => stopped }, endpoint)
      .catch((err) => {
        logger.warn({ err, endpointId: formatId('whe', endpoint.id) }, 'cannot deliver events');
        return false;
      })
      .then((more) => {
        endpoints.delete(endpoint.id);
        running.delete(serving);
        if (more) wake();
      });
    running.add(serving);
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
      options.ending.abort();
      await Promise.all(running);
      await options.sender.close();
    },
  };
}
