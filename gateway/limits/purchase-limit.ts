// Limits the purchases that a client starts on the hub's own page: each creates a session and a checkout.
import type { Counter } from 'prom-client';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimited } from '../problem.ts';
import type { LimitStore } from './limit-store.ts';

/** Counts a purchase of a client (see `clientKey`). Rejects with Problem `rate_limited`. */
export type PurchaseLimit = (client: string) => Promise<void>;

/** An office shares one address. */
const PURCHASES = 20;
const WINDOW_SECONDS = 600;

export function createPurchaseLimit(store: LimitStore, refusals: Counter.Internal): PurchaseLimit {
  const limiter = store.limiter({ name: 'purchase', points: PURCHASES, seconds: WINDOW_SECONDS });
  return async (client) => {
    try {
      await limiter.consume(client);
    } catch (refused) {
      // If the limiter fails, customers can buy.
      if (!(refused instanceof RateLimiterRes)) return;
      refusals.inc();
      throw rateLimited('Too many purchases from this address.', refused.msBeforeNext / 1_000);
    }
  };
}
