// Opens Redis so that its absence costs a request next to nothing.
import { Redis } from 'ioredis';

export type RedisOptions = {
  readonly url: string;
  readonly onError: (error: Error) => void;
  readonly onReady?: () => void;
};

/** Connects in the background and reconnects for ever; commands fail at once while there is no connection. */
export function openRedis({ url, onError, onReady }: RedisOptions): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 250,
    connectTimeout: 500,
    enableAutoPipelining: true,
    retryStrategy: (attempt) => Math.min(100 * attempt, 1_000),
  });
  redis.on('error', onError);
  if (onReady) redis.on('ready', onReady);
  return redis;
}
