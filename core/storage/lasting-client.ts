// A connection to PostgreSQL beside the pool, for as long as it is needed.
import pg from 'pg';

/**
 * So long a server may take to let somebody in. Otherwise who answers nothing is waited for for ever: a client may even reach
 * itself, on a port that nobody listens on.
 */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Not connected yet, and without a listener for its errors. The server knows it by `name`. */
export function lastingClient(databaseUrl: string, name: string): pg.Client {
  return new pg.Client({
    connectionString: databaseUrl,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
}
