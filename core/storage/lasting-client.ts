// A connection to PostgreSQL beside the pool, for as long as it is needed.
import type pg from 'pg';
import { createClient } from './connection/client.ts';
import { parseConnectionString } from './connection/connection-string.ts';

/** Not connected yet, and without a listener for its errors. The server knows it by `name`. */
export function lastingClient(databaseUrl: string, name: string): pg.Client {
  return createClient(parseConnectionString(databaseUrl), name);
}
