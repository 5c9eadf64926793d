// Checks and prepares the target database of a restore: it must be empty and unused, and gets the schema of
// the backup.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { prepareJobTables } from '../payment/callbacks/job-queue.ts';
import { parseConnectionString } from '../storage/connection/connection-string.ts';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import type { Database } from '../storage/database.ts';
import { prepareSchema } from '../storage/schema/create-schema.ts';
import { knownMigrations, migrateUp, migrationStatus } from '../storage/schema/migrate.ts';
import { listTables, quote } from './list-tables.ts';
import type { Manifest } from './manifest.ts';
import { jobSchemaVersion } from './take-backup.ts';

/** The action in the audit log of a restored database. Its subject is the time of the snapshot. */
export const RESTORE = 'backup.restore';

/** Tables that a hub writes to at its first start. Rows in any other table are user data. */
const BOOKKEEPING = [
  'hub_migration',
  'master_key_use',
  'service_token',
  'audit_key',
  'audit_head',
  'license_expiry_mark',
];

/** How long the server may list the connections of a hub that has stopped or was killed. */
const HUB_GONE_MS = 5_000;

export function requireKnown({ migrations, hubVersion }: Manifest, ours: string): void {
  const known = knownMigrations();
  const unknown = migrations.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new Error(
    `the backup was made by hub ${hubVersion}, and this is ${ours}: the migration ${unknown} is unknown. ` +
      `Restore with hub ${hubVersion} or later`,
  );
}

/**
 * A pooler keeps the connections of a stopped hub, with their application name. A running hub sends a
 * statement each second. PostgreSQL hides the time for connections of other roles: these count as those of a
 * running hub.
 */
const IS_IN_USE = `coalesce(state_change, now()) > now() - interval '3 seconds'`;

/** Hubs use the application name of the address, if it has one. @throws Error if a hub is connected */
export async function requireNoHub(client: pg.Client, { url, pooler }: DatabaseAddress): Promise<void> {
  const { applicationName } = parseConnectionString(url);
  const condition = pooler === 'transaction' ? IS_IN_USE : 'true';
  const latest = performance.now() + HUB_GONE_MS;
  for (;;) {
    // In a transaction, the view would keep the connections of the first look.
    await client.query('select pg_stat_clear_snapshot()');
    const { rows: hubs } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name = any($1::text[])
         and ${condition}`,
      [['hub', 'hub owner', 'hub events', applicationName]],
    );
    if (hubs.length === 0) return;
    if (performance.now() > latest) {
      const hint =
        pooler === 'transaction' ? ', let the pooler close its connections (RECONNECT in PgBouncer)' : '';
      throw new Error(`a hub uses this database: stop it${hint}, and restore into an empty one`);
    }
    await setTimeout(100);
  }
}

/** The first table with user data; undefined if the database is empty. */
export async function findRows(client: pg.Client): Promise<string | undefined> {
  for (const table of await listTables(client)) {
    if (BOOKKEEPING.includes(table.name)) continue;
    const { rows } = await client.query(`select from ${quote(table)} limit 1`);
    if (rows.length > 0) return `${table.schema}.${table.name}`;
  }
  return undefined;
}

/**
 * The time of the snapshot that was restored into the database; undefined if anything was recorded since.
 *
 * @param actor The actor of restores, whose migrations do not count.
 */
export async function restoredBackup(client: pg.Client, actor: string): Promise<string | undefined> {
  const { rows: log } = await client.query(`select to_regclass('audit_entry') as name`);
  if (log[0]?.name === null) return undefined;
  const { rows } = await client.query<{ action: string; subject: string }>(
    // audit_entry_pkey
    `select action, subject from audit_entry where not (action = 'schema.migrate' and actor = $1) order
     by id desc limit 1`,
    [actor],
  );
  return rows[0]?.action === RESTORE ? rows[0].subject : undefined;
}

/**
 * Creates the tables of the backup's schema. Later migrations run after the rows are loaded, and migrate them
 * too.
 */
export async function makeTables(db: Database, manifest: Manifest, client: pg.Client): Promise<void> {
  const { applied } = await migrationStatus(db);
  const later = applied.find(({ name }) => !manifest.migrations.includes(name));
  if (later !== undefined) {
    throw new Error(
      `the database has a later schema (${later.name}) than the backup: restore into a new database, ` +
        'which is migrated afterwards',
    );
  }
  const last = manifest.migrations.toSorted().at(-1);
  await prepareSchema(db);
  if (last !== undefined) await migrateUp(db, { to: last });
  await requireApplied(client, manifest);
  await prepareJobTables(db);
  const ours = await jobSchemaVersion(client);
  if (ours !== undefined && (manifest.jobSchemaVersion ?? 0) > ours) {
    throw new Error(
      `the job queue of the backup has schema ${manifest.jobSchemaVersion}, and this hub knows ${ours}: ` +
        `restore with hub ${manifest.hubVersion} or later`,
    );
  }
}

/** @throws Error unless hub_migration has exactly the migrations of the manifest */
export async function requireApplied(client: pg.Client, { migrations }: Manifest): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select name from hub_migration');
  const names = rows.map(({ name }) => name).sort();
  const differing =
    migrations.find((name) => !names.includes(name)) ?? names.find((name) => !migrations.includes(name));
  if (differing === undefined) return;
  throw new Error(
    `the backup's manifest and the database disagree on the migrations: only one of them has ${differing}`,
  );
}

/** Until the transaction ends, no hub can start on the database, because each start writes to this table. */
export async function lockOut(client: pg.Client): Promise<void> {
  await client.query('lock table master_key_use in access exclusive mode');
}

/** Deletes the rows of the first start, which those of the backup replace. */
export async function clearBookkeeping(client: pg.Client): Promise<void> {
  const tables = (await listTables(client)).filter(({ name }) => BOOKKEEPING.includes(name));
  for (const table of tables) await client.query(`delete from ${quote(table)}`);
}
