// Opens connections for COPY: without timeouts, and with fixed formats, so that the text of COPY does not
// depend on the settings of the server.
import type pg from 'pg';
import { dedicatedClient } from '../storage/connection/client.ts';
import { type DatabaseAddress, directAddress, searchPath } from '../storage/connection/database-address.ts';
import { keepNoSessionState } from '../storage/connection/transaction-pooling.ts';
import { streamOf } from '../storage/sql/transaction.ts';
import { currentSchema } from './list-tables.ts';

/**
 * @param name The application name of the connection.
 * @param signal Closes the connection, so that the statement in progress fails. It may be aborted already.
 */
export async function openCopyConnection(
  address: DatabaseAddress,
  name: string,
  signal?: AbortSignal,
): Promise<pg.Client> {
  const { url, pooler, schema } = directAddress(address);
  const client = dedicatedClient(url, name);
  client.on('error', () => {}); // the statement in progress reports it
  await client.connect();
  // Not `client.end()`, which waits for the statement in progress.
  signal?.addEventListener('abort', () => streamOf(client).destroy(), { once: true });
  try {
    signal?.throwIfAborted(); // the signal may have aborted during `connect`
    const isPooled = pooler === 'transaction';
    let settings: string[] = isPooled ? ['search_path to default'] : [];
    // A pooler may run each transaction in another session.
    if (isPooled) keepNoSessionState(client, () => settings);
    const own = schema ?? (await currentSchema(client));
    settings = [...(await timeouts(client)), ...FORMATS, searchPath(own)];
    if (!isPooled) await client.query(settings.map((each) => `set ${each}`).join('; '));
    return client;
  } catch (error) {
    await client.end().catch(() => {}); // the first error counts
    throw error;
  }
}

/** The settings that turn off all timeouts. Older versions of PostgreSQL have fewer. */
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
