// The PostgreSQL of a test run: embedded, one server for all test files, with a fresh database for each that asks.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../core/storage/embedded-postgres.ts';
import { discard, makeDataDir } from './data-dir.ts';

/** Where the workers of a run find the server that its set-up started. */
const VARIABLE = 'HUB_TEST_POSTGRES';
/** And what that server logs. */
const LOG_VARIABLE = 'HUB_TEST_POSTGRES_LOG';

/** Several files run at once, each with hubs that fill their pools. */
const MAX_CONNECTIONS = 500;

/** The URL of a new, empty database. */
export async function createDatabase(): Promise<string> {
  const server = process.env[VARIABLE];
  if (server === undefined)
    throw new Error(`${VARIABLE} is not set: run tests with mocha, which starts PostgreSQL`);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await withClient(server, (client) => client.query(`create database ${name}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  url.search = ''; // as operators write it
  return url.href;
}

/** All that the server has logged so far, of the databases of other tests too. */
export function readServerLog(): Promise<string> {
  return readFile(process.env[LOG_VARIABLE] ?? '', 'utf8');
}

/** One statement on a database, as an operator would with psql. */
export function query<R extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<R[]> {
  return withClient(url, async (client) => (await client.query<R>(text, values)).rows);
}

/** Starts the server for this process and those it starts; returns how to stop it. */
export async function startPostgres(): Promise<() => Promise<void>> {
  const dataDir = await makeDataDir();
  const server = await startEmbeddedPostgres({ dataDir, maxConnections: MAX_CONNECTIONS });
  process.env[VARIABLE] = server.url;
  process.env[LOG_VARIABLE] = join(server.location, 'data/server.log');
  return async () => {
    await server.stop();
    await discard(dataDir);
  };
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // a server that goes down: the statement under way says it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
