// Limits the requests of each client to the license endpoints, and writes the rate-limit headers.
import type { Logger } from 'pino';
import type { Counter } from 'prom-client';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { throttle } from '../../lib/net/throttle.ts';
import { Problem } from '../problem.ts';
import type { Limiter } from './limit-store.ts';
import { createLocalWindows, type Left } from './local-window.ts';

export type RateLimitOptions = {
  /** Requests a client may make in each 60 seconds. */
  ratePerMinute: number;
  limiter: Limiter;
  logger: Logger;
  refusals: Counter.Internal;
};

/** Headers (name, value, …) as in draft-ietf-httpapi-ratelimit-headers, and the refusal if nothing is left. */
type RateVerdict = { readonly headers: readonly string[]; readonly refusal?: Problem };

/** Creates the function that counts a request of a client (see `clientKey`). It never throws or rejects. */
export function createRateLimit({ ratePerMinute, limiter, logger, refusals }: RateLimitOptions): RateLimit {
  const policy = `"license";q=${ratePerMinute};w=${WINDOW_SECONDS}`;
  const warn = throttle(QUIET_MS, (err: unknown) => logger.warn({ err }, 'rate limit not counted'));

  const consume = createLocalWindows(limiter, ratePerMinute);

  const headersFor = ({ remainingPoints, msBeforeNext }: Left): string[] => {
    const seconds = secondsUntil(msBeforeNext);
    return ['RateLimit-Policy', policy, 'RateLimit', `"license";r=${remainingPoints};t=${seconds}`];
  };

  const granted = (left: Left): RateVerdict => ({ headers: headersFor(left) });
  const refused = (reason: unknown): RateVerdict => {
    if (reason instanceof RateLimiterRes) {
      refusals.inc();
      return { headers: headersFor(reason), refusal: tooMany(secondsUntil(reason.msBeforeNext)) };
    }
    // If the limiter fails, requests are admitted: serving customers matters more than counting them.
    warn(reason);
    return { headers: [] };
  };

  return (client) => {
    const left = consume(client);
    return left instanceof Promise ? left.then(granted, refused) : granted(left);
  };
}

/** Returns a Promise only if the limiter has to be asked. */
export type RateLimit = (client: string) => RateVerdict | Promise<RateVerdict>;

export const WINDOW_SECONDS = 60;
const QUIET_MS = 60_000;

function tooMany(seconds: number): Problem {
  return new Problem('rate_limited', `Too many requests from this address. Try again in ${seconds} s.`, {
    headers: ['Retry-After', String(seconds)],
  });
}

function secondsUntil(ms: number): number {
  // The clock may have been set back since the window began.
  return Math.min(Math.max(1, Math.ceil(ms / 1000)), WINDOW_SECONDS);
}
