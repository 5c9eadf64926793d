// The PostgreSQL of a test run: one server for all test files, with a fresh database for each caller.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../core/clock.ts';
import { bringUpToDate } from '../../../core/prepare-schema.ts';
import { openDatabase } from '../../../core/storage/database.ts';
import { packagedBinaries } from '../../../core/storage/embedded-postgres/binaries.ts';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { storageEntities } from '../../../core/storage/schema/entities.ts';
import { discard, makeDataDir } from '../hub/data-dir.ts';
import { oneRole, twoRoles } from './database-roles.ts';
import { startServerOf, type TestServer } from './own-server.ts';

/** Where the workers of a run find the server that its set-up started. */
const VARIABLE = 'HUB_TEST_POSTGRES';
/** The database of that server that has the schema of a hub already. */
const TEMPLATE = 'hub_template';
/** And what that server logs. */
const LOG_VARIABLE = 'HUB_TEST_POSTGRES_LOG';
/** The folder with the programs of another PostgreSQL, to be used in place of the embedded one. */
const BIN_VARIABLE = 'HUB_TEST_POSTGRES_BIN';

/** Several files run at once, each with hubs that fill their pools. */
const MAX_CONNECTIONS = 500;

/** The URL of a new, empty database, with a role that owns this database and has no other privilege. */
export function createDatabase(adminUrl = serverOfRun()): Promise<string> {
  const { name, password, statements } = oneRole(newName());
  return create(adminUrl, statements, { role: name, password, database: name });
}

/**
 * The same with the schema of a hub that has not started yet: a copy of a template, which takes a tenth of the time of
 * the migrations. Only where `prepareTemplate` ran.
 */
export async function createMigratedDatabase(): Promise<string> {
  const { name, password, statements } = oneRole(newName());
  const copied = statements.map((statement) =>
    statement.replace(/^create database .*/i, `$& template ${TEMPLATE}`),
  );
  const url = await create(serverOfRun(), copied, { role: name, password, database: name });
  await query(asSuperuser(url), `reassign owned by ${TEMPLATE} to ${name}`);
  return url;
}

/** Makes the database that `createMigratedDatabase` copies. */
export async function prepareTemplate(): Promise<void> {
  const { name, password, statements } = oneRole(TEMPLATE);
  const url = await create(serverOfRun(), statements, { role: name, password, database: name });
  const db = await openDatabase({ url, poolSize: 2, entities: storageEntities });
  await bringUpToDate({ db, actor: { kind: 'local', name: 'tests', requestId: '' }, clock: systemClock });
  await db.close();
  // Reassigning the role's objects in a copy must not affect the template.
  await query(serverOfRun(), `alter database ${TEMPLATE} owner to current_user`);
}

/** A new, empty database of a role that owns it; hubs can serve with the other one after a migration by the owner. */
export async function createDatabaseOfTwoRoles(): Promise<{ owner: string; serving: string }> {
  const { name, ownerName, password, statements } = twoRoles(newName());
  const owner = await create(serverOfRun(), statements, { role: ownerName, password, database: name });
  const serving = new URL(owner);
  serving.username = name;
  return { owner, serving: serving.href };
}

/** The same database by a superuser, for a test of what superusers can do, or a fault that takes one. */
export function asSuperuser(databaseUrl: string): string {
  const url = new URL(serverOfRun());
  url.pathname = new URL(databaseUrl).pathname;
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
export async function startPostgres(start = startForTests): Promise<() => Promise<void>> {
  const server = await start();
  process.env[VARIABLE] = server.adminUrl;
  process.env[LOG_VARIABLE] = server.log;
  return server.stop;
}

/** A server that does not flush: no test crashes the machine, which alone would lose something. */
async function startForTests(): Promise<TestServer> {
  const bin = process.env[BIN_VARIABLE] || join((await packagedBinaries()).root, 'bin');
  return startServerOf(bin, MAX_CONNECTIONS);
}

/** The same with the server that a hub brings with it: it flushes, as that of a benchmark has to. */
export const startFlushingPostgres = (): Promise<() => Promise<void>> => startPostgres(startEmbedded);

/** The server that a hub brings with it, as a hub starts it. */
export async function startEmbedded(): Promise<TestServer> {
  const dataDir = await makeDataDir();
  const server = await startEmbeddedPostgres({ dataDir, maxConnections: MAX_CONNECTIONS });
  return {
    adminUrl: server.url,
    log: join(server.location, 'data/server.log'),
    async stop() {
      await server.stop();
      await discard(dataDir);
    },
  };
}

function serverOfRun(): string {
  const server = process.env[VARIABLE];
  if (server === undefined)
    throw new Error(`${VARIABLE} is not set: run tests with mocha, which starts PostgreSQL`);
  return server;
}

function newName(): string {
  return `test_${randomBytes(6).toString('hex')}`;
}

/** Statement by statement: CREATE DATABASE takes no transaction around it. */
async function create(
  adminUrl: string,
  statements: readonly string[],
  { role, password, database }: { role: string; password: string; database: string },
): Promise<string> {
  await withClient(adminUrl, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
  const url = new URL(adminUrl);
  [url.username, url.password, url.pathname] = [role, password, `/${database}`];
  url.search = ''; // as operators write it
  return url.href;
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
