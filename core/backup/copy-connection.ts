// Connection for COPY: without timeouts, and with fixed settings so that COPY's text does not depend on the
// server's.
import type pg from 'pg';
import { streamOf } from '../storage/connection/client.ts';
import { type DatabaseAddress, directAddress, searchPath } from '../storage/connection/database-address.ts';
import { dedicatedClient } from '../storage/connection/dedicated-client.ts';
import { keepNoSessionState } from '../storage/connection/transaction-pooling.ts';
import { currentSchema } from './tables.ts';

/**
 * `name` is the application name that the server lists. At `signal` the connection is cut, and its statement
 * fails.
 */
export async function openCopyConnection(
  address: DatabaseAddress,
  name: string,
  signal?: AbortSignal,
): Promise<pg.Client> {
  const { url, pooler, schema } = directAddress(address);
  const client = dedicatedClient(url, name);
  client.on('error', () => {}); // the statement that waits for an answer fails with it
  await client.connect();
  // A statement that waits for a lock would hold the end of the client up.
  signal?.addEventListener('abort', () => streamOf(client).destroy(), { once: true });
  try {
    const isPooled = pooler === 'transaction';
    let settings: string[] = isPooled ? ['search_path to default'] : [];
    // A pooler may give each transaction another session.
    if (isPooled) keepNoSessionState(client, () => settings);
    const own = schema ?? (await currentSchema(client));
    settings = [...(await timeouts(client)), ...FORMATS, searchPath(own)];
    if (!isPooled) await client.query(settings.map((each) => `set ${each}`).join('; '));
    return client;
  } catch (error) {
    await client.end().catch(() => {}); // the first error says more
    throw error;
  }
}

/** Not every version has all of the time-outs. */
async function timeouts(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from pg_settings where name in
       ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`,
  );
  return rows.map(({ name }) => `${name} = 0`);
}

const FORMATS = [
  `client_encoding = 'UTF8'`,
  `datestyle = 'ISO, YMD'`,
  `intervalstyle = 'postgres'`,
  `timezone = 'UTC'`,
  'extra_float_digits = 1',
  'row_security = off',
];
