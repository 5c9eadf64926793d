// The PostgreSQL of a test run: one server for all test files, with a fresh database for each caller.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../core/clock.ts';
import { migrateSchema } from '../../../core/prepare-schema.ts';
import { openDatabase } from '../../../core/storage/database.ts';
import { packagedBinaries } from '../../../core/storage/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { storageEntities } from '../../../core/storage/schema/entities.ts';
import { makePartitions } from '../../../core/storage/schema/partitions.ts';
import { discard, makeDataDir } from '../hub/data-dir.ts';
import { filesAreInMemory } from '../memory-directory.ts';
import { until } from '../until.ts';
import { oneRole, twoRoles } from './database-roles.ts';
import { startServerOf, type TestServer } from './own-server.ts';

/** The variable with the URL of the server that the run's setup started. */
const VARIABLE = 'HUB_TEST_POSTGRES';
/** The database of that server that already has a hub's schema, and the role that owns its objects. */
const TEMPLATE = 'hub_template';
/** The same, with the partitions of the months that a starting hub creates. */
const TEMPLATE_WITH_MONTHS = 'hub_template_with_months';
/** The variable with the URL of the template, whose role also owns the copies. */
const TEMPLATE_VARIABLE = 'HUB_TEST_POSTGRES_TEMPLATE';
/** The variable with the path of that server's log. */
const LOG_VARIABLE = 'HUB_TEST_POSTGRES_LOG';
/** The directory with the programs of another PostgreSQL, which replaces the embedded one. */
const BIN_VARIABLE = 'HUB_TEST_POSTGRES_BIN';

/** Several test files run at once, and their hubs use their whole pools. */
const MAX_CONNECTIONS = 500;

/** The URL of a new, empty database, with a role that owns this database and has no other privilege. */
export function createDatabase(adminUrl = serverOfRun()): Promise<string> {
  const { name, password, statements } = oneRole(newName());
  return create(adminUrl, statements, { role: name, password, database: name });
}

/**
 * A database with the schema of a hub that has not started yet. Copying the template takes a tenth of the
 * time of the migrations. All copies belong to one role: to reassign the objects of a copy takes the server
 * twice as long as to copy them. A test that needs a role of its own uses `createDatabase`.
 * It requires `prepareTemplate`.
 */
export function createMigratedDatabase(): Promise<string> {
  return copyTemplate(TEMPLATE);
}

/**
 * A database with the schema and the partitions of this month and the next ones. A hub starts on it in half the
 * time, because the partitions take the server longer than all other work of a start.
 */
export function createDatabaseWithMonths(): Promise<string> {
  return copyTemplate(TEMPLATE_WITH_MONTHS);
}

/** A copy of a database of this server, with the same owner. The original must have no connections. */
export function copyDatabase(databaseUrl: string): Promise<string> {
  const { username, password, pathname } = new URL(databaseUrl);
  return copy(pathname.slice(1), { role: username, password });
}

function copyTemplate(template: string): Promise<string> {
  const { password } = new URL(process.env[TEMPLATE_VARIABLE] ?? '');
  return copy(template, { role: TEMPLATE, password });
}

function copy(original: string, owner: { role: string; password: string }): Promise<string> {
  const name = newName();
  const statements = [
    // Logging each block takes longer than copying the files.
    `create database ${name} owner ${owner.role} template ${original} strategy file_copy`,
    `revoke all on database ${name} from public`,
  ];
  return create(serverOfRun(), statements, { ...owner, database: name });
}

/** Creates the databases that `createMigratedDatabase` and `createDatabaseWithMonths` copy. */
export async function prepareTemplate(): Promise<void> {
  const { name, password, statements } = oneRole(TEMPLATE);
  const url = await create(serverOfRun(), statements, { role: name, password, database: name });
  const db = await openDatabase({ url, poolSize: 2, entities: storageEntities });
  await migrateSchema({ db, actor: { kind: 'local', name: 'tests', requestId: '' }, clock: systemClock });
  await db.close();
  await query(
    serverOfRun(),
    `create database ${TEMPLATE_WITH_MONTHS} template ${TEMPLATE} owner ${TEMPLATE}`,
  );
  const { href } = Object.assign(new URL(url), { pathname: `/${TEMPLATE_WITH_MONTHS}` });
  const pool = new pg.Pool({ connectionString: href, max: 1 });
  await makePartitions(pool, systemClock());
  await pool.end();
  process.env[TEMPLATE_VARIABLE] = url;
}

/**
 * A new, empty database and the role that owns it. Hubs can serve with the second role after the owner's
 * migration.
 */
export async function createDatabaseOfTwoRoles(): Promise<{ owner: string; serving: string }> {
  const { name, ownerName, password, statements } = twoRoles(newName());
  const owner = await create(serverOfRun(), statements, { role: ownerName, password, database: name });
  const serving = new URL(owner);
  serving.username = name;
  return { owner, serving: serving.href };
}

/**
 * The same database with a superuser, to test superusers' permissions or to inject a fault that needs one.
 */
export function asSuperuser(databaseUrl: string): string {
  const url = new URL(serverOfRun());
  url.pathname = new URL(databaseUrl).pathname;
  url.search = ''; // operators' URLs have no query
  return url.href;
}

/** The server's log so far, including entries of other tests' databases. */
export function readServerLog(): Promise<string> {
  return readFile(serverLog(), 'utf8');
}

/** The path of the server's log, which can be too large for a string. */
export function serverLog(): string {
  return process.env[LOG_VARIABLE] ?? '';
}

/** Runs one statement on a database, like an operator with psql. */
export function query<R extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<R[]> {
  return withClient(url, async (client) => (await client.query<R>(text, values)).rows);
}

/** Whether a statement of this database that contains `text` waits for a lock. */
export async function waitsForLock(url: string, text: string): Promise<boolean> {
  const rows = await query(
    url,
    `select from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0`,
    [text],
  );
  return rows.length > 0;
}

/** Starts the server for this process and its children. Returns a function that stops it. */
export async function startPostgres(start = startForTests): Promise<() => Promise<void>> {
  const server = await start();
  useServer(server);
  return server.stop;
}

/** Makes it the server of this process and its children. */
export function useServer({ adminUrl, log }: TestServer): void {
  process.env[VARIABLE] = adminUrl;
  process.env[LOG_VARIABLE] = log;
}

/** A server that does not flush. It can lose data only if the machine crashes, and no test does that. */
async function startForTests(): Promise<TestServer> {
  const bin = process.env[BIN_VARIABLE] || join((await packagedBinaries()).root, 'bin');
  return startServerOf(bin, MAX_CONNECTIONS);
}

/** The embedded server of a hub. It flushes, as a benchmark requires. */
export const startFlushingPostgres = (): Promise<() => Promise<void>> => startPostgres(startEmbedded);

export type EmbeddedServer = TestServer & {
  /** Restarts it on the same port and data. The settings, such as `shared_buffers=6GB`, override those of the hub. */
  restart(settings: readonly string[]): Promise<void>;
};

/** The embedded server, started in the hub's way. */
export async function startEmbedded(): Promise<EmbeddedServer> {
  const options = { dataDir: await makeDataDir(), maxConnections: MAX_CONNECTIONS };
  let server = await startEmbeddedPostgres(options);
  const { url, location } = server;
  const port = Number(new URL(url).port);
  return {
    adminUrl: url,
    log: join(location, 'data/server.log'),
    async restart(settings) {
      await server.stop();
      server = await startEmbeddedPostgres({ ...options, settings, pickPort: async () => port });
    },
    async stop() {
      await server.stop();
      await discard(options.dataDir);
    },
  };
}

/**
 * Drops the databases that this process created on the run's server if they are in memory, which they would fill
 * together. On a disk, dropping takes longer than creating.
 */
export async function dropDatabases(): Promise<void> {
  const names = created.splice(0);
  if (names.length === 0 || !filesAreInMemory()) return;
  await withClient(serverOfRun(), async (client) => {
    // `pool.end()` returns before the server has closed the connections, and a client throws if the drop ends its own.
    const isUnused = async (): Promise<boolean> =>
      (await client.query('select from pg_stat_activity where datname = any($1)', [names])).rowCount === 0;
    await until(isUnused, 'the databases have no connection', 500).catch(() => {});
    for (const name of names) await client.query(`drop database if exists ${name} with (force)`);
  });
}
const created: string[] = [];

function serverOfRun(): string {
  const server = process.env[VARIABLE];
  if (server === undefined)
    throw new Error(`${VARIABLE} is not set: run tests with mocha, which starts PostgreSQL`);
  return server;
}

function newName(): string {
  return `test_${randomBytes(6).toString('hex')}`;
}

/** Runs each statement separately, because CREATE DATABASE cannot run in a transaction. */
async function create(
  adminUrl: string,
  statements: readonly string[],
  { role, password, database }: { role: string; password: string; database: string },
): Promise<string> {
  if (adminUrl === serverOfRun() && database !== TEMPLATE) created.push(database);
  await withClient(adminUrl, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
  const url = new URL(adminUrl);
  [url.username, url.password, url.pathname] = [role, password, `/${database}`];
  url.search = ''; // operators' URLs have no query
  return url.href;
}

/** A connection that is closed when the work ends. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // if the server stops, the current statement reports it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
