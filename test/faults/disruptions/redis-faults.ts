// Faults of the Redis that stores the hubs' counters.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { corruptions } from '../../support/corruptions.ts';
import type { Fault } from '../scenes/scene.ts';

export type RedisServer = {
  readonly url: string;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
};

export const REDIS_FAULTS: readonly Fault<{ readonly redis: RedisServer }>[] = [
  {
    name: 'redis-restart',
    what: '`kill -9` of Redis, and an empty one in its place',
    outage: 'none',
    async strike({ redis }, ms) {
      await redis.kill();
      await pause(ms);
      await redis.start();
    },
  },
  {
    name: 'redis-freeze',
    what: 'Redis is frozen (`SIGSTOP`)',
    outage: 'none',
    async strike({ redis }, ms) {
      redis.signal('SIGSTOP');
      await pause(ms);
      redis.signal('SIGCONT');
    },
  },
  {
    name: 'redis-data',
    what: 'Redis holds wrong data: other types, garbage, absurd counts, nothing (`FLUSHALL`)',
    outage: 'none',
    strike: ({ redis }, ms) => corrupt(redis.url, ms),
  },
];

/** The keys of the hubs' counters. All clients of a test have the same address. */
const KEYS = ['hub:rate:license:127.0.0.1', 'hub:rate:guess:127.0.0.1', 'hub:rate:failed-attempts:127.0.0.1'];
const EVERY_MS = 50;

/** Replaces every existing and future counter with each kind of invalid value in turn, or deletes it. */
async function corrupt(url: string, ms: number): Promise<void> {
  const redis = new Redis(url);
  const kinds = corruptions('').length;
  const end = performance.now() + ms;
  try {
    for (let turn = 0; performance.now() < end || turn <= kinds; turn++) {
      const keys = [...new Set([...KEYS, ...(await redis.keys('hub:rate:*'))])];
      const batch = redis.multi().del(...keys);
      for (const key of keys) corruptions(key)[turn % (kinds + 1)]?.write(batch);
      await batch.exec();
      await pause(EVERY_MS);
    }
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
}
