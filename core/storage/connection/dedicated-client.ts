// A PostgreSQL connection outside of the pool.
import type pg from 'pg';
import { createClient } from './client.ts';
import { parseConnectionString } from './connection-string.ts';

/**
 * Returns a client that is not connected yet and has no error listener. `name` becomes its
 * `application_name`.
 */
export function dedicatedClient(databaseUrl: string, name: string): pg.Client {
  return createClient(parseConnectionString(databaseUrl), name);
}
