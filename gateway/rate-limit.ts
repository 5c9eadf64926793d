// Counts requests per client over the license endpoints, and words the rate-limit headers.
import { isIPv4 } from 'node:net';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from './problem.ts';

export type RateLimitOptions = {
  /** Requests a client may make in each 60 seconds. */
  ratePerMinute: number;
  limiter: Limiter;
  logger: Logger;
};

/**
 * What a client has left: the headers of the answer (name, value, …), and the refusal once nothing is left.
 * Headers as in draft-ietf-httpapi-ratelimit-headers.
 */
type RateVerdict = { readonly headers: readonly string[]; readonly refusal?: Problem };

/** Makes the function that counts a request of a client, by its address. It never rejects. */
export function createRateLimit({ ratePerMinute, limiter, logger }: RateLimitOptions): RateLimit {
  const policy = `"license";q=${ratePerMinute};w=${WINDOW_SECONDS}`;
  let quietUntil = 0;

  const verdict = ({ remainingPoints, msBeforeNext }: RateLimiterRes): string[] => {
    const seconds = secondsUntil(msBeforeNext);
    return ['RateLimit-Policy', policy, 'RateLimit', `"license";r=${remainingPoints};t=${seconds}`];
  };

  return async (ip) => {
    try {
      return { headers: verdict(await limiter.consume(clientKey(ip))) };
    } catch (refused) {
      if (refused instanceof RateLimiterRes) {
        return { headers: verdict(refused), refusal: tooMany(secondsUntil(refused.msBeforeNext)) };
      }
      // Customers come before counting: a limiter that fails lets everybody through, and says so now and then.
      const now = performance.now();
      if (now >= quietUntil) {
        quietUntil = now + QUIET_MS;
        logger.warn({ err: refused }, 'rate limit not counted');
      }
      return { headers: [] };
    }
  };
}

/** Takes one of a client's requests; rejects with a RateLimiterRes when none is left. */
export type Limiter = { consume(key: string): Promise<RateLimiterRes> };

export type RateLimit = (ip: string) => Promise<RateVerdict>;

const WINDOW_SECONDS = 60;
const QUIET_MS = 60_000;

/** Counts in Redis, where all gateways count together, and in memory without one or while it is away. */
export function createLimiter(points: number, redis: Redis | undefined): Limiter {
  const window = { points, duration: WINDOW_SECONDS, keyPrefix: 'hub:rate:license' };
  const memory = new RateLimiterMemory(window);
  if (redis === undefined) return memory;
  return new RateLimiterRedis({
    ...window,
    storeClient: redis,
    insuranceLimiter: memory,
    rejectIfRedisNotReady: true,
    // A client that has used up its window is refused from memory until the window ends.
    inMemoryBlockOnConsumed: points,
  });
}

function tooMany(seconds: number): Problem {
  return new Problem('rate_limited', `Too many requests from this address. Try again in ${seconds} s.`, {
    headers: ['Retry-After', String(seconds)],
  });
}

function secondsUntil(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** What is counted as one client: an IPv4 address, or the /64 network of an IPv6 address, which is one subscriber's. */
export function clientKey(ip: string): string {
  if (isIPv4(ip) || !ip.includes(':')) return ip;
  const [left = '', right] = ip.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right ? right.split(':') : [];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4).join(':');
}
