// Clients of the driver that connect as libpq does: to the first server of the address that can be used.
import pg from 'pg';
import { runTimed, streamOf } from '../sql/transaction.ts';
import { type ConnectionTarget, parseConnectionString } from './connection-string.ts';
import { passwordFromFile } from './password-file.ts';
import { ServerConnection } from './server-connection.ts';

/** Returns a class, as a pool requires. Each client looks for a server on its own. */
export function clientClass(target: ConnectionTarget): new (config?: pg.ClientConfig) => pg.Client {
  class HubClient extends pg.Client {
    queryTimeoutMs: number;

    constructor({ query_timeout: queryTimeoutMs = 0, ...config }: pg.ClientConfig = {}) {
      const connection = new ServerConnection(target);
      const password =
        target.password ??
        (async () => (await passwordFromFile(target, connection.server)) ?? missingPassword());
      const own = { password, connection }; // `connection` is missing from the types
      super({ ...config, ...clientConfig(target), ...own } as pg.ClientConfig);
      this.queryTimeoutMs = queryTimeoutMs;
      // Each server may have another password.
      connection.prependListener('connect', () => Object.assign(this, { password }));
      connection.once('readyForQuery', () => {
        const { host, port } = connection.server;
        Object.assign(this, { host, port });
      });
    }
  }
  HubClient.prototype.query = runTimed as pg.Client['query'];
  return HubClient;
}

/**
 * Creates a client outside of a pool, not connected yet and without an error listener. `name` becomes its
 * `application_name`.
 */
export function createClient(target: ConnectionTarget, name: string): pg.Client {
  const Client = clientClass(target);
  return new Client({ application_name: name, pipeline: true });
}

export function dedicatedClient(databaseUrl: string, name: string): pg.Client {
  return createClient(parseConnectionString(databaseUrl), name);
}

/** Time for the server to close a connection. */
const END_MS = 1_000;

/**
 * Ends a client outside of a pool; never rejects. The driver waits for the server, and TCP notices only after
 * minutes that its host is gone. So the connection is destroyed after a second.
 */
export async function endClient(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => streamOf(client).destroy(), END_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** The time-out of a pool for a connection, in milliseconds. */
export function poolTimeoutMs({ connectTimeoutMs, servers }: ConnectionTarget): number {
  return connectTimeoutMs * servers.length;
}

function clientConfig(target: ConnectionTarget): pg.ClientConfig {
  const [{ host, port }] = target.servers;
  const { user, database, parameters } = target;
  return {
    host,
    port,
    user,
    database,
    // ServerConnection does both; the driver would read the environment.
    ssl: false,
    sslnegotiation: 'postgres',
    connectionTimeoutMillis: 0, // each server has its own limit
    enableChannelBinding: parameters.channel_binding !== 'disable',
    ...(parameters.options && { options: parameters.options }),
  };
}

function missingPassword(): never {
  throw new Error(
    'the server asks for a password, and DATABASE_URL has none: add it, or use a password file',
  );
}
