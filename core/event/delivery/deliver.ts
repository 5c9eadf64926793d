// Delivers events to endpoints. Each endpoint has its own places, so that a slow one delays only itself.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { EndpointSecrets } from '../endpoint/secrets.ts';
import type { EventMetrics } from '../metrics.ts';
import { webhookId } from './payload.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DueEndpoint,
  type FinishedDelivery,
  findDueEndpoints,
  finishDeliveries,
  releaseClaims,
} from './queue.ts';
import { DISABLE_AFTER_MS, retryDelayMs } from './retry-schedule.ts';
import type { SendResult, WebhookSender } from './send.ts';
import { signatureHeaders } from './signature.ts';

export type DeliverOptions = {
  readonly pool: Pool;
  /** Stops attempts in progress. */
  readonly ending: AbortController;
  readonly sender: WebhookSender;
  readonly secrets: EndpointSecrets;
  readonly payloadsOf: (events: readonly ClaimedDelivery[], includeKeys: boolean) => Promise<string[]>;
  /** Disables an endpoint with this UUID. */
  readonly disable: (endpointId: string, reason: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
  readonly metrics: Pick<EventMetrics, 'attempted'>;
};

export type Deliveries = {
  /** Looks for due deliveries now. */
  wake(): void;
  /** Stops attempts in progress; they do not count as failures. */
  stop(): Promise<void>;
};

const EVERY_MS = 1_000;
/** Attempts to one endpoint at the same time. */
const CONCURRENCY = 16;
/** Deliveries that are claimed at once for one endpoint. */
const CLAIM = 64;
const GONE = 410;

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

  /** Delivers what is due to one endpoint. Returns whether more may be due. */
  const serve = async (endpoint: DueEndpoint): Promise<boolean> => {
    const now = clock();
    const claimed = await claimDeliveries(pool, endpoint.id, { now, limit: CLAIM });
    const bodies = await options.payloadsOf(claimed, endpoint.includeKeys);
    const waiting = claimed.map((delivery, index) => ({ delivery, body: bodies[index] ?? '' }));
    const attemptNext = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (stopped) {
          waiting.unshift(next);
          return;
        }
        await attempt(next.delivery, next.body);
      }
    };
    const attempt = async (delivery: ClaimedDelivery, body: string): Promise<void> => {
      const result = await attemptDelivery(options, endpoint, { delivery, body });
      if (stopped && result.state !== 'delivered') waiting.push({ delivery, body });
      else await finish(result);
      const reason = reasonToDisable(result, endpoint);
      if (reason !== undefined && !stopped) await options.disable(endpoint.id, reason);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, attemptNext));
    if (stopped)
      await releaseClaims(
        pool,
        waiting.map(({ delivery }) => delivery),
        clock(),
      );
    return claimed.length === CLAIM;
  };

  const start = (endpoint: DueEndpoint): void => {
    endpoints.add(endpoint.id);
    const serving = serve(endpoint)
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

type Attempt = { readonly delivery: ClaimedDelivery; readonly body: string };

async function attemptDelivery(
  { sender, secrets, clock, metrics }: DeliverOptions,
  endpoint: DueEndpoint,
  { delivery, body }: Attempt,
): Promise<FinishedDelivery> {
  const at = clock();
  const startedMs = performance.now();
  const headers = signatureHeaders({
    id: webhookId(delivery.eventId),
    timestamp: at,
    body,
    secrets: secrets.open(endpoint, at),
  });
  const result = await sender.send({ url: endpoint.url, headers, body });
  const durationMs = performance.now() - startedMs;
  const finished = { ...judge(result, delivery, at), at, durationMs };
  metrics.attempted(finished.state === 'delivered' ? 'delivered' : 'failed', durationMs / 1_000);
  return finished;
}

type Judged = Omit<FinishedDelivery, 'at' | 'durationMs'>;

function judge(result: SendResult, { eventId, endpointId, attempts }: ClaimedDelivery, at: Date): Judged {
  const answer =
    result.kind === 'answered'
      ? { status: result.status, body: result.body }
      : { status: undefined, body: undefined };
  if (result.kind === 'answered' && result.status >= 200 && result.status < 300) {
    const delivered = { state: 'delivered', nextAttemptAt: undefined, problem: undefined } as const;
    return { eventId, endpointId, ...answer, ...delivered };
  }
  const problem = result.kind === 'answered' ? `it answered with status ${result.status}` : result.problem;
  const delayMs = retryDelayMs(attempts + 1, result.kind === 'answered' ? result.retryAfterMs : undefined);
  return {
    eventId,
    endpointId,
    ...answer,
    problem,
    state: delayMs === undefined ? 'failed' : 'pending',
    nextAttemptAt: delayMs === undefined ? undefined : new Date(at.getTime() + delayMs),
  };
}

function reasonToDisable(
  { state, status, at }: FinishedDelivery,
  { failingSince }: DueEndpoint,
): string | undefined {
  if (state === 'delivered') return undefined;
  if (status === GONE) return 'it answered with status 410 (gone)';
  if (failingSince === null || at.getTime() - failingSince.getTime() < DISABLE_AFTER_MS) return undefined;
  return `all deliveries have failed since ${failingSince.toISOString()}`;
}
