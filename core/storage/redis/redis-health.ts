// Checks whether Redis accepts writes. A connection does not prove it: a replica, a server that is out of
// memory and a node of a cluster all respond, and reject writes.
import { setTimeout } from 'node:timers/promises';
import { Cluster, ReplyError } from 'ioredis';
import type { Logger } from 'pino';
import { messageOf } from '../../../lib/caught-error.ts';
import type { RedisClient } from './open-redis.ts';

export type RedisState = 'up' | 'away' | 'refuses writes';

export type RedisHealth = ReturnType<typeof watchRedis>;

const PROBE_KEY = 'hub:probe';
const EVERY_MS = 2_000;
/** A few probes long, so that the key soon expires. */
const PROBE_TTL_MS = 10_000;

/** Writes a key every 2 seconds, and logs changes of the state. */
export function watchRedis(client: RedisClient, logger: Logger) {
  const ending = new AbortController();
  let state: RedisState = 'up';

  const become = (next: RedisState, reason = ''): void => {
    if (next === state) return;
    state = next;
    if (next === 'up') logger.info('Redis answers again');
    else if (next === 'away') logger.warn(`Redis does not answer, requests are counted in memory: ${reason}`);
    else logger.warn(`Redis refuses writes, requests are counted in memory: ${reason}`);
  };

  const watch = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await setTimeout(EVERY_MS, undefined, { signal: ending.signal, ref: false }).catch(() => {});
      if (ending.signal.aborted) return;
      try {
        await probeRedis(client);
        become('up');
      } catch (error) {
        become(...problemOf(error));
      }
    }
  };
  const watching = watch();

  return {
    get state(): RedisState {
      return state === 'up' && client.status !== 'ready' ? 'away' : state;
    },
    /** For the client's `error` event. */
    noteError: (error: Error): void => become('away', error.message),
    async stop(): Promise<void> {
      ending.abort();
      await watching;
    },
  };
}

/** Writes a key that expires. @throws Error that says why Redis did not take it */
export async function probeRedis(client: RedisClient): Promise<void> {
  await client.set(PROBE_KEY, '1', 'PX', PROBE_TTL_MS);
  if (client instanceof Cluster) return;
  const cluster = await client.info('cluster').catch(() => ''); // some services forbid INFO
  if (cluster.includes('cluster_enabled:1')) {
    throw new ReplyError('it is a node of a cluster: set REDIS_CLUSTER=1');
  }
}

/** Whether the server replied with an error. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ReplyError;
}

function problemOf(error: unknown): [RedisState, string] {
  return [isRefusal(error) ? 'refuses writes' : 'away', messageOf(error)];
}
