// A connection to copy tables over: no statement times out, and COPY writes the same text whatever the server's settings.
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { type DatabaseAddress, searchPathSetting } from '../storage/database-address.ts';
import { lastingClient } from '../storage/lasting-client.ts';

/** `name` is the application name that the server lists. At `signal` the connection is cut, and its statement fails. */
export async function openCopyConnection(
  address: DatabaseAddress,
  name: string,
  signal?: AbortSignal,
): Promise<pg.Client> {
  const client = lastingClient(address.url, name);
  client.on('error', () => {}); // the statement that waits for an answer fails with it
  await client.connect();
  // A statement that waits for a lock would hold the end of the client up.
  signal?.addEventListener('abort', () => streamOf(client).destroy(), { once: true });
  try {
    await client.query(`${SETTINGS}; ${searchPathSetting(address)}`);
    return client;
  } catch (error) {
    await client.end().catch(() => {}); // the first error says more
    throw error;
  }
}

function streamOf(client: pg.Client): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream; // missing from the types
}

// Not every version has all of the time-outs.
const SETTINGS = `
  select set_config(name, '0', false) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout');
  set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set timezone = 'UTC';
  set extra_float_digits = 1; set row_security = off`;
