// Restores schema, data and key ring of a backup into an empty hub. Restores everything or nothing.
import { rename, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type pg from 'pg';
import { messageOf, undefinedIfMissing } from '../../lib/caught-error.ts';
import type { Actor } from '../access/caller.ts';
import { recordChangeNow } from '../audit/record.ts';
import { systemClock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import { prepareQueue } from '../payment/callbacks/job-queue.ts';
import { migrateSchema } from '../prepare-schema.ts';
import { type DatabaseAddress, directAddress } from '../storage/connection/database-address.ts';
import type { DataDir } from '../storage/data-dir.ts';
import type { Database } from '../storage/database.ts';
import { knownMigrations } from '../storage/schema/migrate.ts';
import { makePartitions } from '../storage/schema/partitions.ts';
import { checkKeyRing, installKeyRing, type MasterKeySource } from '../storage/secrets/load-key-ring.ts';
import { commitAndConfirm, NotCommitted, UnknownOutcome } from './commit-restore.ts';
import { openCopyConnection } from './copy-connection.ts';
import { loadTable, makePartitionsFor, requireFitting, setSequences } from './load-tables.ts';
import type { Manifest } from './manifest.ts';
import { type Archive, type Loaded, readArchive } from './read-archive.ts';
import {
  clearBookkeeping,
  findRows,
  lockOut,
  makeTables,
  RESTORE,
  requireApplied,
  requireKnown,
  requireNoHub,
  restoredBackup,
} from './restore-target.ts';

export type Restored = Loaded & {
  readonly manifest: Manifest;
  /** The key ring file that was created; undefined if the hub had these keys already. */
  readonly keyRingFile: string | undefined;
};

export type RestoreOptions = {
  /** Returns the address of the target database. Called once the passphrase has proved right. */
  readonly findDatabase: () => Promise<DatabaseAddress>;
  readonly openDatabase: (address: DatabaseAddress) => Promise<Database>;
  /** Opens or creates the data directory. Called once the database is available. */
  readonly dataDir: () => Promise<DataDir>;
  /** Where the hub reads its master keys. */
  readonly masterKey: MasterKeySource;
  /** Where the hub saves the head of the audit chain. Default: in the data directory. */
  readonly auditHeadFile?: string | undefined;
  readonly hubVersion: string;
  readonly passphrase: string;
  /** How long to check for the data if the connection is lost during the commit. Default: a minute. */
  readonly retryForMs?: number;
};

const RETRY_FOR_MS = 60_000;
const APPLICATION = 'hubctl backup restore';

/**
 * @throws Error that says what to do if the passphrase is wrong, the file is damaged or of a later hub, the
 * database is not empty or in use, or the hub has another key ring. The database is then as empty as before,
 * unless the message says otherwise.
 */
export async function restoreBackup(file: Readable, options: RestoreOptions): Promise<Restored> {
  return readArchive(file, options.passphrase, async (archive) => {
    const { manifest } = archive;
    requireKnown(manifest, options.hubVersion);
    const address = await options.findDatabase();
    await using undo = new AsyncDisposableStack();
    const client = await openCopyConnection(address, APPLICATION);
    undo.defer(() => client.end().catch(() => {})); // it may be closed already
    await requireNoHub(client, address);
    await requireEmpty(client, archive, options);
    const db = await options.openDatabase({ ...directAddress(address), applicationName: APPLICATION });
    undo.defer(() => db.close());
    await makeTables(db, manifest, client);
    await requireFitting(client, manifest);
    await client.query('begin');
    await lockOut(client);
    await requireNoHub(client, address); // one may have started before the lock
    await requireEmpty(client, archive, options); // another restore may have held the lock
    const loaded = await load(client, archive);
    const { keyRingFile } = await commitWithKeys(client, address, archive, options);
    await finish(db);
    return { ...loaded, manifest, keyRingFile };
  });
}

/**
 * Reads a backup to its end and changes nothing.
 *
 * @throws UnreadableBackup
 */
export function verifyBackup(file: Readable, passphrase: string): Promise<Loaded & { manifest: Manifest }> {
  return readArchive(file, passphrase, async ({ manifest, readTables }) => {
    const loaded = await readTables(async (_, rows) => {
      for await (const _chunk of rows);
    });
    return { ...loaded, manifest };
  });
}

/** Loads the backup in the caller's transaction. Resolves only if the backup is complete. */
async function load(client: pg.Client, { manifest, keys, readTables }: Archive): Promise<Loaded> {
  // Turns off the triggers that queue audit entries and count seats: the backup has the queue and the counts.
  await client.query(`set local hub.restoring = 'on'`);
  await clearBookkeeping(client);
  await makePartitionsFor(client, manifest.tables);
  await prepareQueue(client);
  const loaded = await readTables((table, rows) => loadTable(client, table, rows));
  await setSequences(client, manifest.sequences);
  await requireApplied(client, manifest);
  await checkKeyRing(client, keys);
  await client.query(`set local hub.restoring = 'off'`);
  await recordRestore(client, manifest, loaded);
  return loaded;
}

const ACTOR: Actor = { kind: 'local', name: APPLICATION, requestId: '' };

/**
 * Whether the hub of the backup has served. Unknown without the table `audit_head`; then it counts as true.
 */
async function hasServed(client: pg.Client): Promise<boolean> {
  const { rows: found } = await client.query(`select to_regclass('audit_head') as name`);
  if (found[0]?.name === null) return true;
  const { rows } = await client.query('select from audit_head');
  return rows.length > 0;
}

/** A later restore recognizes a restored database by this row of the audit log. */
async function recordRestore(client: pg.Client, manifest: Manifest, { tables, rows }: Loaded): Promise<void> {
  // The first start of a hub begins its audit chain, and nothing may be recorded before.
  if (!(await hasServed(client))) return;
  const { createdAt, hubVersion, masterKeyIds, migrations } = manifest;
  const after = { createdAt, hubVersion, masterKeyIds, tables, rows };
  if (migrations.length === knownMigrations().length) {
    await recordChangeNow(client, ACTOR, systemClock(), {
      action: RESTORE,
      subject: createdAt,
      before: null,
      after,
    });
    return;
  }
  // Only columns that every earlier schema has.
  await client.query(
    'insert into audit_entry (id, at, actor, action, subject, detail) values ($1, $2, $3, $4, $5, $6)',
    [newUuid(), systemClock(), ACTOR.name, RESTORE, createdAt, after],
  );
}

/**
 * Writes the key ring before the commit, so that a restore that is killed during the commit leaves the
 * database with its keys. Removes it only if the transaction was certainly rolled back.
 */
async function commitWithKeys(
  client: pg.Client,
  address: DatabaseAddress,
  { keys }: Archive,
  { dataDir, masterKey, auditHeadFile, retryForMs = RETRY_FOR_MS }: RestoreOptions,
): Promise<{ keyRingFile: string | undefined }> {
  const transaction = await ownTransactionId(client);
  const place = await dataDir();
  const ring = await installKeyRing(masterKey, place, keys);
  const head = await setHeadAside(auditHeadFile ?? place.auditHeadFile).catch(async (error) => {
    await ring.undo();
    throw error;
  });
  try {
    await commitAndConfirm({
      client,
      address,
      isCommitted: (other) => holdsRowsOf(other, transaction),
      retryForMs,
    });
  } catch (error) {
    if (error instanceof NotCommitted) {
      await head.putBack();
      await ring.undo();
    }
    if (!(error instanceof UnknownOutcome)) throw error;
    throw new Error(
      `${error.message}. Nothing was removed; ` +
        `the key ring is in ${ring.createdFile ?? 'the key file of the hub'}. ` +
        'When the database answers, run the same command again: ' +
        'it reports that the backup is restored completely, or restores it',
      { cause: error },
    );
  }
  await head.discard();
  return { keyRingFile: ring.createdFile };
}

/** The id of the current transaction, from the rows of hub_migration, which every backup contains. */
async function ownTransactionId(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>('select xmin::text as id from hub_migration limit 1');
  return rows[0]?.id;
}

const ANSWER_MS = 10_000;

/** Waits until the transaction of the restore has ended, and looks for a row that it wrote. */
async function holdsRowsOf(client: pg.Client, transaction: string | undefined): Promise<boolean> {
  await client.query(
    `begin; set local statement_timeout = ${ANSWER_MS}; lock table master_key_use in access share mode`,
  );
  const { rows } = await client.query('select from hub_migration where xmin::text = $1 limit 1', [
    transaction,
  ]);
  return rows.length > 0;
}

/** Renames the file with the head of the previous audit log, which the restored log does not contain. */
async function setHeadAside(headFile: string) {
  const aside = headAside(headFile);
  const isThere = (await rename(headFile, aside).then(() => true, undefinedIfMissing)) ?? false;
  return {
    putBack: async () => {
      if (isThere) await rename(aside, headFile);
    },
    discard: () => rm(aside, { force: true }),
  };
}

function headAside(headFile: string): string {
  return `${headFile}.before-restore`;
}

/**
 * @throws Error if the database has rows. If they are those of this backup, it installs the key ring first.
 */
async function requireEmpty(
  client: pg.Client,
  { manifest, keys }: Archive,
  { masterKey, dataDir, auditHeadFile }: RestoreOptions,
): Promise<void> {
  const table = await findRows(client);
  if (table === undefined) return;
  const restored = await restoredBackup(client, ACTOR.name);
  if (restored === undefined) {
    throw new Error(
      `the database is not empty: there are rows in ${table}. Restore into a new database, or with ` +
        '--data-dir into a new data directory',
    );
  }
  let key = '';
  if (restored === manifest.createdAt) {
    await checkKeyRing(client, keys);
    const place = await dataDir();
    const { createdFile } = await installKeyRing(masterKey, place, keys);
    if (createdFile !== undefined) key = `, its key ring was missing and is in ${createdFile} now`;
    await rm(headAside(auditHeadFile ?? place.auditHeadFile), { force: true });
  }
  throw new Error(
    `the backup of ${restored} is restored completely in this database already${key}: ` +
      'start the hub, or restore into a new one',
  );
}

/** Migrates the schema and creates partitions, as each start of a hub does. */
async function finish(db: Database): Promise<void> {
  try {
    await migrateSchema({ db, actor: ACTOR, clock: systemClock });
    await makePartitions(db.pool, new Date());
  } catch (error) {
    throw new Error(
      'the backup is restored, with its key ring; only its schema could not be migrated ' +
        `(${messageOf(error)}): run hubctl migration apply with the same settings, then start the hub`,
      { cause: error },
    );
  }
}
