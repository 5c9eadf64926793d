// Clients of the driver that connect as libpq does: to the first server of the address that will do.
import pg from 'pg';
import type { ConnectionTarget } from './connection-string.ts';
import { passwordFromFile } from './password-file.ts';
import { ServerConnection } from './server-connection.ts';

/** A class, as a pool wants it: each of its clients looks for a server of its own. */
export function clientClass(target: ConnectionTarget): new (config?: pg.ClientConfig) => pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      const connection = new ServerConnection(target);
      const password =
        target.password ??
        (async () => (await passwordFromFile(target, connection.server)) ?? missingPassword());
      const own = { password, connection }; // the types do not have the second
      super({ ...config, ...clientConfig(target), ...own } as pg.ClientConfig);
      // Of each server that is tried, the password may be another one.
      connection.prependListener('connect', () => Object.assign(this, { password }));
      connection.once('readyForQuery', () => {
        const { host, port } = connection.server;
        Object.assign(this, { host, port });
      });
    }
  };
}

/** A client on its own. `name` is what the server lists it by. */
export function createClient(target: ConnectionTarget, name: string): pg.Client {
  const Client = clientClass(target);
  return new Client({ application_name: name, pipeline: true });
}

/** For a pool, which gives up on a connection after so long as well. */
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
    // The connection does both; the driver would read the environment.
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
