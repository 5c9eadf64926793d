// Opens Redis with short time-outs, so that an unavailable Redis does not delay requests.
import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { messageOf } from '../../../lib/caught-error.ts';
import type { RedisAddress } from './redis-address.ts';

export type RedisClient = Redis | Cluster;

export type RedisSource = {
  readonly address: RedisAddress;
  /** Whether the nodes are those of a cluster. */
  readonly isCluster: boolean;
  /** PEM file with the CA of a TLS server. Default: the CAs that Node.js trusts. */
  readonly caFile?: string | undefined;
};

/** Milliseconds a command may take. */
const COMMAND_TIMEOUT_MS = 250;
const CONNECT_TIMEOUT_MS = 500;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 1_000;

const retryStrategy = (attempt: number): number => Math.min(RETRY_MIN_MS * attempt, RETRY_MAX_MS);

/**
 * ioredis gives up for good (status `end`) if a Sentinel announces a failover while the client asks another
 * one for the primary. This client connects again, until `disconnect` is called.
 */
class LastingRedis extends Redis {
  #isClosed = false;

  constructor(options: RedisOptions & { readonly replyMapping?: 'legacy' }) {
    super(options);
    this.on('end', () => void setTimeout(() => this.#connectAgain(), RETRY_MIN_MS).unref());
  }

  override disconnect(reconnect = false): void {
    this.#isClosed ||= !reconnect;
    super.disconnect(reconnect);
  }

  #connectAgain(): void {
    if (!this.#isClosed) this.connect().catch(() => {}); // a failure is also an `error` event
  }
}

/**
 * Connects in the background and reconnects forever. A command fails at once while there is no connection.
 * @throws Error if the CA file cannot be read
 */
export async function openRedis(
  { address, isCluster, caFile }: RedisSource,
  onError: (error: Error) => void,
): Promise<RedisClient> {
  const { nodes, username, password, database, tls, sentinel } = address;
  const tlsOptions: ConnectionOptions | undefined = tls
    ? { ...(caFile !== undefined && { ca: await readCa(caFile) }) }
    : undefined;
  const perConnection = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tlsOptions && { tls: tlsOptions }),
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The address may lead to the new primary after a failover.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  const client = isCluster
    ? new Cluster([...nodes], {
        redisOptions: perConnection,
        enableOfflineQueue: false,
        enableAutoPipelining: true,
        clusterRetryStrategy: retryStrategy,
        // A command follows a moved slot, and does not wait for a failover.
        maxRedirections: 2,
        retryDelayOnFailover: 50,
        retryDelayOnClusterDown: 50,
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        // Certificates name hosts; the library would resolve them to addresses first.
        ...(tls && {
          dnsLookup: (host: string, done: (error: null, address: string) => void) => done(null, host),
        }),
      })
    : new LastingRedis({
        ...perConnection,
        ...(sentinel === undefined
          ? nodes[0]
          : {
              sentinels: [...nodes],
              name: sentinel.name,
              ...(sentinel.username !== undefined && { sentinelUsername: sentinel.username }),
              ...(sentinel.password !== undefined && { sentinelPassword: sentinel.password }),
              ...(tlsOptions && { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions }),
              sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
              sentinelRetryStrategy: retryStrategy,
              failoverDetector: true,
            }),
        db: database,
        enableOfflineQueue: false,
        enableAutoPipelining: true,
        retryStrategy,
      });
  client.on('error', onError);
  return client;
}

async function readCa(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const message = `REDIS_TLS_CA: cannot read the certificate authority: ${messageOf(error)}`;
    throw new Error(message, { cause: error });
  }
}
