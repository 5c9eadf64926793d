// Stores counters in Redis, in memory without Redis or while it is down; and known clients in Redis.
import type { Cluster, Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { INVALID_COUNT } from './max-points.ts';

export type LimitStore = {
  /** Creates a limiter with one counter per key. `name` is part of the Redis key. */
  limiter(window: { name: string; points: number; seconds: number }): Limiter;
  /** The known clients of all gateways; undefined without Redis. */
  readonly shared: SharedKeys | undefined;
};

export type SharedKeys = {
  /** Remembers a key for `seconds`. Resolves with whether Redis stores it. */
  remember(key: string, seconds: number): Promise<boolean>;
  remembers(key: string): Promise<boolean>;
};

export type Limiter = {
  /** Takes points of a key (default: 1). Rejects with a RateLimiterRes if fewer are left in the window. */
  consume(key: string, points?: number): Promise<RateLimiterRes>;
  /** Returns the state of a key's window; null if no points are taken. */
  get(key: string): Promise<RateLimiterRes | null>;
};

/** Delay between attempts to use Redis again: with a frozen Redis each attempt costs a timeout. */
const RETRY_MS = 1_000;

/**
 * Takes ARGV[1] points of a key in a window of ARGV[2] seconds. Returns the points taken and the milliseconds
 * until the window ends. Resets a value that no limiter writes (wrong type, not a number, too large, or
 * without an expiry inside the window), so that it cannot lock out a client.
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

/** The same check for `get`. A value of another type has no number. */
function isOurs({ consumedPoints, msBeforeNext }: RateLimiterRes, seconds: number): boolean {
  const isCount = consumedPoints >= 0 && consumedPoints < INVALID_COUNT;
  return isCount && msBeforeNext >= 0 && msBeforeNext <= 1_000 * seconds;
}

const MAX_BLOCKED = 50_000;

/**
 * Remembers keys without points until their windows of `seconds` end, so that refusing them costs no call to
 * Redis. A limiter can do the same, but by the machine's clock, which may be set back.
 */
export function createBlocks(seconds: number) {
  const blockedUntil = new Map<string, number>();
  return {
    /** 0 if the key is not blocked. */
    msLeft: (key: string): number => Math.max(0, (blockedUntil.get(key) ?? 0) - performance.now()),
    /** Blocks the key until its window ends, if it has no points left. */
    record(key: string, { remainingPoints, msBeforeNext }: RateLimiterRes): void {
      if (remainingPoints > 0) return;
      if (blockedUntil.size >= MAX_BLOCKED) blockedUntil.clear(); // the counters stay in the store
      // The machine's clock, by which a limiter in memory counts, may have been set back.
      blockedUntil.set(key, performance.now() + Math.min(msBeforeNext, 1_000 * seconds));
    },
  };
}

/** `onWithout` is called for each operation that uses memory because Redis is down. */
export function createLimitStore(
  redis: Redis | Cluster | undefined,
  onWithout: () => void = () => {},
): LimitStore {
  let retryAt: number | undefined;

  /** Rejects only with a RateLimiterRes, which is a result and not a failure of Redis. */
  const viaRedis = async <T>(work: () => Promise<T>, inMemory: () => T | Promise<T>): Promise<T> => {
    const without = (): T | Promise<T> => {
      onWithout();
      return inMemory();
    };
    if (retryAt !== undefined) {
      if (performance.now() < retryAt) return without();
      retryAt = performance.now() + RETRY_MS; // this request tries Redis; concurrent ones use memory
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
      });
      const blocks = createBlocks(seconds);
      const consumeShared = (key: string, taken?: number): Promise<RateLimiterRes> =>
        shared.consume(key, taken).then(
          (left) => {
            blocks.record(key, left);
            return left;
          },
          (reason) => {
            if (reason instanceof RateLimiterRes) blocks.record(key, reason);
            throw reason;
          },
        );
      const countOf = async (key: string): Promise<RateLimiterRes | null> => {
        const found = await shared.get(key);
        return found !== null && isOurs(found, seconds) ? found : null;
      };
      const blockOf = (key: string): RateLimiterRes | null => {
        const blockedMs = blocks.msLeft(key);
        return blockedMs > 0 ? new RateLimiterRes(0, blockedMs) : null;
      };
      return {
        async consume(key, taken) {
          // Not in `viaRedis`: this refusal does not show that Redis is up.
          const blocked = blockOf(key);
          if (blocked !== null) throw blocked;
          return viaRedis(
            () => consumeShared(key, taken),
            () => memory.consume(key, taken),
          );
        },
        // Checks the block first: Redis may be down or emptied, and a blocked key is not counted there.
        get: async (key) =>
          blockOf(key) ??
          viaRedis(
            () => countOf(key),
            () => memory.get(key),
          ),
      };
    },

    shared: redis && {
      remember: (key, seconds) =>
        viaRedis(
          async () => (await redis.set(`hub:known:${key}`, '1', 'EX', seconds)) === 'OK',
          () => false,
        ),
      remembers: (key) =>
        viaRedis(
          async () => (await redis.exists(`hub:known:${key}`)) === 1,
          () => false,
        ),
    },
  };
}
