// Claims the due deliveries of one endpoint, and attempts each once.
import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { shareRead } from '../../../lib/net/share-read.ts';
import {
  type AttemptOptions,
  attemptDelivery,
  type Disabling,
  prepareAttempt,
  reasonToDisable,
} from './attempt-delivery.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DueEndpoint,
  type FinishedDelivery,
  readEndpoint,
  releaseClaims,
} from './claim-deliveries.ts';

export type DeliverOptions = AttemptOptions & {
  readonly pool: Pool;
  readonly finish: (finished: FinishedDelivery) => Promise<void>;
  readonly isHeld: (delivery: ClaimedDelivery) => Promise<boolean>;
  /** Disables an endpoint with this UUID. */
  readonly disable: (endpointId: string, disabling: Disabling) => Promise<void>;
  readonly isStopped: () => boolean;
};

/** Concurrent attempts to one endpoint. */
const CONCURRENCY = 16;
/** Deliveries of one claim. */
const CLAIM = 64;
/** Milliseconds for which attempts use an endpoint before it is read again. */
const MAX_AGE_MS = 1_000;

/**
 * Claims due deliveries and attempts each once. If the hub stops, or if the endpoint is changed, disabled or
 * removed, releases the other claims. Does not attempt deliveries whose claim is lost. Returns whether more
 * deliveries may be due.
 */
export async function deliverToEndpoint(options: DeliverOptions, endpoint: DueEndpoint): Promise<boolean> {
  const { pool, clock, isStopped } = options;
  const claimed = await claimDeliveries(pool, endpoint.id, { now: clock(), limit: CLAIM });
  const open = new Set(claimed);
  const isUnchanged = createIsUnchanged(pool, endpoint);
  let disabling: Promise<void> | undefined;
  try {
    const waiting = [...claimed];
    const attemptEach = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (isStopped() || disabling !== undefined || !(await isUnchanged())) return;
        const prepared = await prepareAttempt(options, endpoint, next);
        // After the webhook is built: it must not contain what an erasure has removed meanwhile.
        if (!(await options.isHeld(next))) continue;
        const result = await attemptDelivery(options, endpoint, prepared);
        // The hub may have aborted the attempt.
        if (isStopped() && result.state !== 'delivered') return;
        await options.finish(result);
        open.delete(next);
        // The endpoint is not the cause if the hub cannot build the webhook.
        if (!result.isBuilt) continue;
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

/** Creates the check that the endpoint is unchanged, which reads it at most once in `MAX_AGE_MS`. */
function createIsUnchanged(pool: Pool, endpoint: DueEndpoint): () => Promise<boolean> {
  const readAt = performance.now();
  const read = shareRead(() => readEndpoint(pool, endpoint.id), MAX_AGE_MS);
  return async () => {
    if (performance.now() - readAt < MAX_AGE_MS) return true;
    const current = await read();
    return isDeepStrictEqual(current && { ...current, failingSince: null }, {
      ...endpoint,
      failingSince: null,
    });
  };
}
