// What gateways count and remember together: in Redis, and in memory without one or while it does not answer.
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { MORE_THAN_ANYBODY_TAKES } from './most-points.ts';

export type Counts = {
  /** A count of its own for each key. `name` keeps it apart from others in Redis. */
  limiter(window: { name: string; points: number; seconds: number }): Limiter;
  /** Notes a key for so many seconds, or a little less: here at once, in Redis soon. */
  remember(key: string, seconds: number): void;
  remembers(key: string): Promise<boolean>;
};

export type Limiter = {
  /** Takes points of a key, one if not said otherwise; rejects with a RateLimiterRes when fewer are left in its window. */
  consume(key: string, points?: number): Promise<RateLimiterRes>;
  /** What a key has left; null if it has all. */
  get(key: string): Promise<RateLimiterRes | null>;
};

/** While Redis does not answer, so often one request tries it again: a frozen one costs each try its time-out. */
const RETRY_MS = 1_000;
/** Keys remembered in this process. */
const MAX_REMEMBERED = 50_000;

/**
 * Takes points (ARGV[1]) of a key in a window of seconds (ARGV[2]); answers how many are taken, and for how many
 * milliseconds it is still so. A count that no window makes is nobody's, and begins anew: one of another type, no
 * number, more than anybody can take, or without an end within the window. Nobody is locked out for it.
 */
const COUNT_SCRIPT = `
local count = redis.pcall('get', KEYS[1])
if count then
  local left = redis.call('pttl', KEYS[1])
  local ours = type(count) == 'string' and #count < 10 and count:find('^%d+$')
  if not ours or left < 0 or left > 1000 * ARGV[2] then redis.call('del', KEYS[1]) end
end
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1])}
`;

/** The same for a count that is only read. Of another type, it has no number. */
function isOurs({ consumedPoints, msBeforeNext }: RateLimiterRes, seconds: number): boolean {
  const isCount = consumedPoints >= 0 && consumedPoints < MORE_THAN_ANYBODY_TAKES;
  return isCount && msBeforeNext >= 0 && msBeforeNext <= 1_000 * seconds;
}

/** `onWithout` is told of each count that is made in memory because Redis does not answer. */
export function createCounts(redis: Redis | Cluster | undefined, onWithout: () => void = () => {}): Counts {
  let retryAt: number | undefined;

  /** Rejects with what `work` rejects only if that is a RateLimiterRes: an answer. */
  const viaRedis = async <T>(work: () => Promise<T>, inMemory: () => T | Promise<T>): Promise<T> => {
    const without = (): T | Promise<T> => {
      onWithout();
      return inMemory();
    };
    if (retryAt !== undefined) {
      if (performance.now() < retryAt) return without();
      retryAt = performance.now() + RETRY_MS; // this request tries; those beside it go on without
    }
    try {
      const result = await work();
      retryAt = undefined;
      return result;
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        retryAt = undefined;
        throw error;
      }
      retryAt = performance.now() + RETRY_MS;
      return without();
    }
  };

  const remembered = new Map<string, number>();
  const remembersHere = (key: string): boolean => (remembered.get(key) ?? 0) > performance.now();

  return {
    limiter({ name, points, seconds }) {
      const window = { points, duration: seconds, keyPrefix: `hub:rate:${name}` };
      const memory = new RateLimiterMemory(window);
      if (redis === undefined) return memory;
      const shared = new RateLimiterRedis({
        ...window,
        storeClient: redis,
        rejectIfRedisNotReady: true,
        customIncrTtlLuaScript: COUNT_SCRIPT,
        // Who has used up the window is refused from memory until it ends.
        inMemoryBlockOnConsumed: points,
      });
      const countOf = async (key: string): Promise<RateLimiterRes | null> => {
        const found = await shared.get(key);
        return found !== null && isOurs(found, seconds) ? found : null;
      };
      return {
        consume: (key, points) =>
          viaRedis(
            () => shared.consume(key, points),
            () => memory.consume(key, points),
          ),
        get: (key) =>
          viaRedis(
            () => countOf(key),
            () => memory.get(key),
          ),
      };
    },

    remember(key, seconds) {
      if (remembersHere(key)) return;
      const [oldest] = remembered.keys();
      if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
      // In Redis for the whole time; here for half, so that what is still in use is written again before it ends.
      remembered.set(key, performance.now() + 500 * seconds);
      if (redis === undefined) return;
      void viaRedis(
        async () => void (await redis.set(`hub:known:${key}`, '1', 'EX', seconds)),
        () => {},
      );
    },

    async remembers(key) {
      if (remembersHere(key)) return true;
      if (redis === undefined) return false;
      return viaRedis(
        async () => (await redis.exists(`hub:known:${key}`)) === 1,
        () => false,
      );
    },
  };
}
