// The PostgreSQL of a test run: embedded, started by the first test that asks, with a fresh database for each.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../core/storage/embedded-postgres.ts';

let running: Promise<{ server: EmbeddedPostgres; dataDir: string }> | undefined;

/** The URL of a new, empty database. */
export async function createDatabase(): Promise<string> {
  running ??= start();
  const { server } = await running;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await withClient(server.url, (client) => client.query(`create database ${name}`));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** One statement on a database, as an operator would with psql. */
export function query<R extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<R[]> {
  return withClient(url, async (client) => (await client.query<R>(text, values)).rows);
}

export async function stopPostgres(): Promise<void> {
  if (running === undefined) return;
  const { server, dataDir } = await running;
  await server.stop();
  await rm(await realHome(server.location, dataDir), { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
}

async function start() {
  const dataDir = await mkdtemp(join(tmpdir(), 'hub-test-'));
  return { server: await startEmbeddedPostgres({ dataDir }), dataDir };
}

/** Under root the cluster may live outside the data directory. */
async function realHome(location: string, dataDir: string): Promise<string> {
  return location.startsWith('/var/lib/hubctl/') ? location : dataDir;
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
