// Restores a backup into an empty hub: its schema as it was, the data and the key ring, all of it or nothing.
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import { openHeadFile } from '../access/head-file.ts';
import { systemClock } from '../clock.ts';
import { JOB_SCHEMA, prepareJobTables } from '../payment/jobs.ts';
import { bringUpToDate } from '../schema.ts';
import type { DataDir } from '../storage/data-dir.ts';
import type { Database } from '../storage/database.ts';
import { checkKeyRing, installKeyRing, type MasterKeySource } from '../storage/key-ring.ts';
import { lastingClient } from '../storage/lasting-client.ts';
import { readMasterKeys } from '../storage/master-key.ts';
import { knownMigrations, migrateUp, migrationStatus } from '../storage/migrate.ts';
import { makePartitions } from '../storage/partitions.ts';
import { listTables } from './dump-database.ts';
import { readEnvelope } from './envelope.ts';
import { type Loaded, loadArchive } from './load-database.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { currentSchema, jobSchemaVersion } from './take-backup.ts';

export type Restored = Loaded & {
  readonly manifest: Manifest;
  /** The key ring file that was made; undefined if the hub had these keys already. */
  readonly keyRingFile: string | undefined;
};

export type RestoreOptions = {
  /** The address of the database that the hub will use. Asked for when the passphrase has proved right. */
  readonly findDatabase: () => Promise<string>;
  readonly openDatabase: (url: string) => Promise<Database>;
  /** Opened, and made, when the database is there. */
  readonly dataDir: () => Promise<DataDir>;
  /** Where the hub will take its keys from. */
  readonly masterKey: MasterKeySource;
  readonly hubVersion: string;
  readonly passphrase: string;
};

/**
 * @throws Error that says what to do: the passphrase is wrong, the file damaged or of a later hub, the database not
 *   empty or in use, or another key ring is in the place of this one. The database is then as empty as before.
 */
export async function restoreBackup(file: Readable, options: RestoreOptions): Promise<Restored> {
  const { findDatabase, openDatabase, dataDir, masterKey, hubVersion, passphrase } = options;
  return readEnvelope(file, passphrase, async (contents, finish) => {
    const manifest = readManifest(contents.manifest);
    await requireKnown(manifest, hubVersion);
    const keys = readMasterKeys(contents.keyRing, 'the key ring of the backup');
    const url = await findDatabase();
    await using undo = new AsyncDisposableStack();
    const client = await connect(url);
    undo.defer(() => client.end().catch(() => {})); // it may be gone already; its transaction ends with it
    await requireNoHub(client);
    await requireEmpty(client);
    const db = await openDatabase(url);
    undo.defer(() => db.close());
    await makeTables(db, manifest, client);
    await client.query(`begin; set local hub.restoring = 'on'`); // so that no trigger queues audit entries: the queue is restored as it was
    await clearBookkeeping(client);
    const loaded = await loadArchive(contents.dump, client, NOT_RESTORED);
    await finish();
    await checkKeyRing(client, keys);
    await recordRestore(client, manifest, loaded);
    const place = await dataDir();
    const ring = await installKeyRing(masterKey, place, keys);
    // What was noted there is the head of another log. Before the commit: whoever is killed after it has done everything.
    await openHeadFile(place.auditHeadFile).remove();
    await client.query('commit').catch(async (error) => {
      await ring.undo();
      throw error;
    });
    await bringUpToDate({ db, actor: ACTOR, clock: systemClock });
    await makePartitions(db.pool, new Date());
    return { ...loaded, manifest, keyRingFile: ring.createdFile };
  });
}

/** In the audit log. */
const RESTORE = 'backup.restore';
const ACTOR: Actor = { name: 'hubctl backup restore', requestId: '' };

async function recordRestore(client: pg.Client, manifest: Manifest, { tables, rows }: Loaded): Promise<void> {
  // The log of a schema from before has no place for it.
  if (!manifest.migrations.includes('Migration20261122000000_audit_chain')) return;
  const { createdAt, hubVersion, masterKeyIds } = manifest;
  await client.query(`set local hub.restoring = 'off'`);
  await recordChangeNow(client, ACTOR, systemClock(), {
    action: RESTORE,
    subject: createdAt,
    before: null,
    after: { createdAt, hubVersion, masterKeyIds, tables, rows },
  });
}

/** The queue's version is that of the tables here; its statistics are of no use, and have partitions by day. */
const NOT_RESTORED = [`${JOB_SCHEMA}.version`, `${JOB_SCHEMA}.queue_stats`];

async function connect(url: string): Promise<pg.Client> {
  const client = lastingClient(url, 'hubctl backup restore');
  client.on('error', () => {}); // whatever waits for an answer then learns of it
  await client.connect();
  await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
  return client;
}

/** Reads all of a backup and changes nothing. @throws Error like `restoreBackup` for what is wrong with the file. */
export function verifyBackup(file: Readable, passphrase: string): Promise<Loaded & { manifest: Manifest }> {
  return readEnvelope(file, passphrase, async (contents, finish) => {
    const manifest = readManifest(contents.manifest);
    readMasterKeys(contents.keyRing, 'the key ring of the backup');
    const loaded = await loadArchive(contents.dump, undefined);
    await finish();
    return { ...loaded, manifest };
  });
}

async function requireKnown({ migrations, hubVersion }: Manifest, ours: string): Promise<void> {
  const known = await knownMigrations();
  const unknown = migrations.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new Error(
    `the backup was made by hub ${hubVersion}, and this is ${ours}, which does not know its schema (${unknown}): ` +
      `restore with hub ${hubVersion} or later`,
  );
}

/** What a hub notes for itself at its first start. Everything else in a database is somebody's. */
const BOOKKEEPING = ['hub_migration', 'master_key_use', 'service_token', 'audit_key'];

/** The server still lists the connections of a hub that has just stopped, or was killed. */
const HUB_GONE_MS = 3_000;

async function requireNoHub(client: pg.Client): Promise<void> {
  const latest = performance.now() + HUB_GONE_MS;
  for (;;) {
    const { rows: hubs } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name in ('hub', 'hub owner')`,
    );
    if (hubs.length === 0) return;
    if (performance.now() > latest) {
      throw new Error('a hub uses this database: stop it, and restore into an empty one');
    }
    await setTimeout(100);
  }
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const schema = await currentSchema(client);
  for (const { schema: place, name } of await listTables(client, [schema, JOB_SCHEMA])) {
    if (place === JOB_SCHEMA ? name !== 'job' : BOOKKEEPING.includes(name)) continue;
    const { rows } = await client.query(
      `select from ${pg.escapeIdentifier(place)}.${pg.escapeIdentifier(name)} limit 1`,
    );
    if (rows.length > 0) {
      await requireNotRestored(client);
      throw new Error(
        `the database is not empty: there are rows in ${place}.${name}. Restore into a new database, or with ` +
          '--data-dir into a new data directory',
      );
    }
  }
}

/** A restore that was killed in its commit may have come to its end. @throws Error if nothing has changed since one. */
async function requireNotRestored(client: pg.Client): Promise<void> {
  const { rows: log } = await client.query(`select to_regclass('audit_entry') as name`);
  if (log[0]?.name === null) return;
  const { rows } = await client.query<{ action: string; subject: string }>(
    'select action, subject from audit_entry order by id desc limit 1',
  );
  const [newest] = rows;
  if (newest?.action !== RESTORE) return;
  throw new Error(
    `the backup of ${newest.subject} is whole in this database already: start the hub, or restore into a new one`,
  );
}

/** The tables as they were when the backup was made: later migrations are for its data as well. */
async function makeTables(db: Database, manifest: Manifest, client: pg.Client): Promise<void> {
  const { applied } = await migrationStatus(db);
  const later = applied.find(({ name }) => !manifest.migrations.includes(name));
  if (later !== undefined) {
    throw new Error(
      `the database has a later schema (${later.name}) than the backup: restore into a new database, which is ` +
        'brought up to date afterwards',
    );
  }
  const last = manifest.migrations.at(-1);
  if (last !== undefined) await migrateUp(db, { to: last });
  await prepareJobTables(db.pool);
  const ours = await jobSchemaVersion(client);
  if (ours !== undefined && (manifest.jobSchemaVersion ?? 0) > ours) {
    throw new Error(
      `the job queue of the backup has schema ${manifest.jobSchemaVersion}, and this hub knows ${ours}: restore ` +
        `with hub ${manifest.hubVersion} or later`,
    );
  }
}

async function clearBookkeeping(client: pg.Client): Promise<void> {
  // No hub can start meanwhile: it would note its own keys in this table first.
  await client.query('lock table master_key_use in access exclusive mode');
  const tables = await listTables(client, [await currentSchema(client), JOB_SCHEMA]);
  for (const { schema, name } of tables.reverse()) {
    const clear = schema === JOB_SCHEMA ? name !== 'version' : BOOKKEEPING.includes(name);
    if (clear) await client.query(`delete from ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`);
  }
}
