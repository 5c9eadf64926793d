// The Redis connection of the settings, and its health.
import type { Logger } from 'pino';
import { openRedis, type RedisSource } from '../../core/storage/redis/open-redis.ts';
import { parseRedisAddress } from '../../core/storage/redis/redis-address.ts';
import { type RedisHealth, watchRedis } from '../../core/storage/redis/redis-health.ts';
import type { Settings } from './setting-table.ts';

/** @throws Error without REDIS_URL, or if the CA file cannot be read */
export async function connect(settings: Settings, logger: Logger) {
  let health: RedisHealth | undefined;
  const client = await openRedis(redisSource(settings), (error) => health?.noteError(error));
  health = watchRedis(client, logger);
  return {
    client,
    health,
    async close(): Promise<void> {
      await health?.stop();
      client.disconnect();
    },
  };
}

export function redisSource({ redisUrl, redisCluster, redisTlsCa }: Settings): RedisSource {
  if (redisUrl === undefined) throw new Error('REDIS_URL is not set');
  return { address: parseRedisAddress(redisUrl.reveal()), isCluster: redisCluster, caFile: redisTlsCa };
}
