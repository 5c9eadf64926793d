// Delivers what is due to one endpoint.
import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { coalesce } from '../../../lib/net/coalesce.ts';
import { type AttemptOptions, attemptDelivery, type Disabling, reasonToDisable } from './attempt.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DueEndpoint,
  type FinishedDelivery,
  readEndpoint,
  releaseClaims,
} from './queue.ts';

export type ServeOptions = AttemptOptions & {
  readonly pool: Pool;
  readonly payloadsOf: (events: readonly ClaimedDelivery[], includeKeys: boolean) => Promise<string[]>;
  readonly finish: (finished: FinishedDelivery) => Promise<void>;
  /** Disables an endpoint with this UUID. */
  readonly disable: (endpointId: string, disabling: Disabling) => Promise<void>;
  /** Whether the hub is stopping. */
  readonly isStopped: () => boolean;
};

/** Attempts to one endpoint at the same time. */
const CONCURRENCY = 16;
/** Deliveries that are claimed at once for one endpoint. */
const CLAIM = 64;
/** How long attempts may begin after a change of the endpoint, in milliseconds. */
const CHANGE_MS = 1_000;

/**
 * Claims due deliveries and attempts each once. It gives up claims if the hub stops, or if the endpoint is changed,
 * disabled or removed. Returns whether more may be due.
 */
export async function serveEndpoint(options: ServeOptions, endpoint: DueEndpoint): Promise<boolean> {
  const { pool, clock, isStopped } = options;
  const claimed = await claimDeliveries(pool, endpoint.id, { now: clock(), limit: CLAIM });
  const open = new Set(claimed);
  const isCurrent = watchEndpoint(pool, endpoint);
  let disabling: Promise<void> | undefined;
  try {
    const bodies = await options.payloadsOf(claimed, endpoint.includeKeys);
    const waiting = claimed.map((delivery, index) => ({ delivery, body: bodies[index] ?? '' }));
    const attemptEach = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (isStopped() || disabling !== undefined || !(await isCurrent())) return;
        const result = await attemptDelivery(options, endpoint, next);
        // The end of the hub may have cut the attempt off.
        if (isStopped() && result.state !== 'delivered') return;
        await options.finish(result);
        open.delete(next.delivery);
        const reason = reasonToDisable(result, endpoint);
        if (reason !== undefined) disabling ??= options.disable(endpoint.id, reason);
        await disabling;
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, attemptEach));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  } finally {
    await releaseClaims(pool, [...open], clock());
  }
  return claimed.length > 0;
}

/** Whether the endpoint is still as it was read; asked at most once in `CHANGE_MS`. */
function watchEndpoint(pool: Pool, endpoint: DueEndpoint): () => Promise<boolean> {
  const readAt = performance.now();
  const read = coalesce(() => readEndpoint(pool, endpoint.id), CHANGE_MS);
  return async () => {
    if (performance.now() - readAt < CHANGE_MS) return true;
    const now = await read();
    return isDeepStrictEqual(now && { ...now, failingSince: null }, { ...endpoint, failingSince: null });
  };
}
