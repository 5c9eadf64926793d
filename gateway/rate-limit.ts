// Counts requests per client over the license endpoints, and words the rate-limit headers.
import type { Logger } from 'pino';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Count } from '../metrics/counter.ts';
import { nowAndThen } from '../ports/now-and-then.ts';
import { countAhead, type Left } from './count-ahead.ts';
import type { Limiter } from './counts.ts';
import { Problem } from './problem.ts';

export type RateLimitOptions = {
  /** Requests a client may make in each 60 seconds. */
  ratePerMinute: number;
  limiter: Limiter;
  logger: Logger;
  refusals: Count;
};

/**
 * What a client has left: the headers of the answer (name, value, …), and the refusal once nothing is left.
 * Headers as in draft-ietf-httpapi-ratelimit-headers.
 */
type RateVerdict = { readonly headers: readonly string[]; readonly refusal?: Problem };

/** Makes the function that counts a request of a client, as `clientKey` names it. It never throws or rejects. */
export function createRateLimit({ ratePerMinute, limiter, logger, refusals }: RateLimitOptions): RateLimit {
  const policy = `"license";q=${ratePerMinute};w=${WINDOW_SECONDS}`;
  const warn = nowAndThen(QUIET_MS, (err: unknown) => logger.warn({ err }, 'rate limit not counted'));

  const consume = countAhead(limiter, ratePerMinute);

  const headersFor = ({ remainingPoints, msBeforeNext }: Left): string[] => {
    const seconds = secondsUntil(msBeforeNext);
    return ['RateLimit-Policy', policy, 'RateLimit', `"license";r=${remainingPoints};t=${seconds}`];
  };

  const granted = (left: Left): RateVerdict => ({ headers: headersFor(left) });
  const refused = (reason: unknown): RateVerdict => {
    if (reason instanceof RateLimiterRes) {
      refusals.add();
      return { headers: headersFor(reason), refusal: tooMany(secondsUntil(reason.msBeforeNext)) };
    }
    // Customers come before counting: a limiter that fails lets everybody through, and says so now and then.
    warn(reason);
    return { headers: [] };
  };

  return (client) => {
    const left = consume(client);
    return left instanceof Promise ? left.then(granted, refused) : granted(left);
  };
}

/** Most requests are counted here and now: only those that are not have to be waited for. */
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
