// Creates the limits of the gateway that are switched on, and decides how many requests each allows.
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { createFallbackCount, type createLimitRefusals } from '../../lib/net/limit-metrics.ts';
import type { PageOptions } from '../routes/page-routes.ts';
import type { RateName } from '../routes/route.ts';
import { createGuessLimit } from './guess-limit.ts';
import { createLimitStore } from './limit-store.ts';
import { MAX_POINTS } from './max-points.ts';
import { createPurchaseLimit } from './purchase-limit.ts';
import { createRateLimit, type RateLimit, type RateLimits, WINDOW_SECONDS } from './request-limits.ts';

export type LimitOptions = {
  logger: Logger;
  /** Requests per client and minute over the license endpoints; 0: no limit. */
  ratePerMinute: number;
  /** Wrong guesses at keys, fingerprints and claim tokens per client in ten minutes; 0: no limit. */
  wrongGuesses: number;
  /** Shares the limits between gateways; the caller closes it. Without it each gateway counts in memory. */
  redis?: Redis | Cluster;
};

/** A shop asks for all of its customers from one address. */
const ORDER_RATE_FACTOR = 10;

export function createLimits(
  { ratePerMinute, wrongGuesses, redis, logger }: LimitOptions,
  metrics: Metrics,
  refusals: ReturnType<typeof createLimitRefusals>,
): Pick<PageOptions, 'guesses' | 'purchases'> & { rateLimits: RateLimits | undefined } {
  const store = createLimitStore(redis, createFallbackCount(metrics));
  const guesses =
    wrongGuesses > 0 ? createGuessLimit({ wrongGuesses, store, refusals: refusals('guesses') }) : undefined;
  if (ratePerMinute <= 0) return { guesses, purchases: undefined, rateLimits: undefined };
  const purchases = createPurchaseLimit(store, refusals('purchases'));
  const rateLimit = (name: RateName, points: number): RateLimit => {
    const limiter = store.limiter({ name, points, seconds: WINDOW_SECONDS });
    return createRateLimit({ name, ratePerMinute: points, limiter, logger, refusals: refusals('requests') });
  };
  const order = Math.min(ORDER_RATE_FACTOR * ratePerMinute, MAX_POINTS);
  const rateLimits = { license: rateLimit('license', ratePerMinute), order: rateLimit('order', order) };
  return { guesses, purchases, rateLimits };
}
