// Restores schema, data and key ring of a backup into an empty hub. Restores everything or nothing.
import { rename, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type pg from 'pg';
import { messageOf } from '../../lib/caught-error.ts';
import type { Actor } from '../access/caller.ts';
import { recordChangeNow } from '../audit/record.ts';
import { systemClock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import { prepareQueue } from '../payment/callbacks/job-queue.ts';
import { bringUpToDate } from '../prepare-schema.ts';
import { type DatabaseAddress, directAddress } from '../storage/connection/database-address.ts';
import type { DataDir } from '../storage/data-dir.ts';
import type { Database } from '../storage/database.ts';
import { knownMigrations } from '../storage/schema/migrate.ts';
import { makePartitions } from '../storage/schema/partitions.ts';
import { checkKeyRing, installKeyRing, type MasterKeySource } from '../storage/secrets/key-ring.ts';
import { commitAndConfirm, NotCommitted, UnknownOutcome } from './commit.ts';
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
  /** The key ring file that was made; undefined if the hub had these keys already. */
  readonly keyRingFile: string | undefined;
};

export type RestoreOptions = {
  /** The address of the database that the hub will use. Asked for when the passphrase has proved right. */
  readonly findDatabase: () => Promise<DatabaseAddress>;
  readonly openDatabase: (address: DatabaseAddress) => Promise<Database>;
  /** Opened, and made, when the database is there. */
  readonly dataDir: () => Promise<DataDir>;
  /** Where the hub will take its keys from. */
  readonly masterKey: MasterKeySource;
  /** Where the hub notes the head of the audit chain; by default in the data directory. */
  readonly auditHeadFile?: string | undefined;
  readonly hubVersion: string;
  readonly passphrase: string;
  /**
   * How long a database that was lost in the commit is asked whether it has the data; by default a minute.
   */
  readonly retryForMs?: number;
};

const RETRY_FOR_MS = 60_000;

/**
 * @throws Error that says what to do: the passphrase is wrong, the file damaged or of a later hub, the
 * database not empty or in use, or another key ring is in the place of this one. The database is then as
 * empty as before, unless the message says otherwise.
 */
export async function restoreBackup(file: Readable, options: RestoreOptions): Promise<Restored> {
  return readArchive(file, options.passphrase, async (archive) => {
    const { manifest } = archive;
    await requireKnown(manifest, options.hubVersion);
    const address = await options.findDatabase();
    await using undo = new AsyncDisposableStack();
    const client = await openCopyConnection(address, 'hubctl backup restore');
    undo.defer(() => client.end().catch(() => {})); // it may be gone already; its transaction ends with it
    await requireNoHub(client, address);
    await requireEmpty(client, archive, options);
    const db = await options.openDatabase(directAddress(address));
    undo.defer(() => db.close());
    await makeTables(db, manifest, client);
    await requireFitting(client, manifest);
    await client.query('begin');
    await lockOut(client);
    await requireEmpty(client, archive, options); // another restore may have held the lock
    const loaded = await load(client, archive);
    const { keyRingFile } = await commitWithKeys(client, address, archive, options);
    await finish(db);
    return { ...loaded, manifest, keyRingFile };
  });
}

/**
 * Reads all of a backup and changes nothing.
 *
 * @throws Error like `restoreBackup` for what is wrong with the file.
 */
export function verifyBackup(file: Readable, passphrase: string): Promise<Loaded & { manifest: Manifest }> {
  return readArchive(file, passphrase, async ({ manifest, readTables }) => {
    const loaded = await readTables(async (_, rows) => {
      for await (const _chunk of rows);
    });
    return { ...loaded, manifest };
  });
}

/** In the caller's transaction. The backup is whole when it resolves. */
async function load(client: pg.Client, { manifest, keys, readTables }: Archive): Promise<Loaded> {
  // No trigger queues audit entries or counts seats: queue and numbers are restored as they were.
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

const ACTOR: Actor = { kind: 'local', name: 'hubctl backup restore', requestId: '' };

/** Schemas from before the head was noted do not say. */
async function hasServed(client: pg.Client): Promise<boolean> {
  const { rows: found } = await client.query(`select to_regclass('audit_head') as name`);
  if (found[0]?.name === null) return true;
  const { rows } = await client.query('select from audit_head');
  return rows.length > 0;
}

/** A later restore recognizes a restored database by this row of the audit log. */
async function recordRestore(client: pg.Client, manifest: Manifest, { tables, rows }: Loaded): Promise<void> {
  // Of a hub that never served, nothing may come before its audit chain begins.
  if (!(await hasServed(client))) return;
  const { createdAt, hubVersion, masterKeyIds, migrations } = manifest;
  const after = { createdAt, hubVersion, masterKeyIds, tables, rows };
  if (migrations.length === (await knownMigrations()).length) {
    await recordChangeNow(client, ACTOR, systemClock(), {
      action: RESTORE,
      subject: createdAt,
      before: null,
      after,
    });
    return;
  }
  // The columns that the log of every earlier schema has.
  await client.query(
    'insert into audit_entry (id, at, actor, action, subject, detail) values ($1, $2, $3, $4, $5, $6)',
    [newUuid(), systemClock(), ACTOR.name, RESTORE, createdAt, after],
  );
}

/**
 * The key ring is in its place before the commit: a restore that is killed in the commit leaves a database
 * and its keys. It is removed only if the transaction is known to be rolled back.
 */
async function commitWithKeys(
  client: pg.Client,
  address: DatabaseAddress,
  { keys }: Archive,
  { dataDir, masterKey, auditHeadFile, retryForMs = RETRY_FOR_MS }: RestoreOptions,
): Promise<{ keyRingFile: string | undefined }> {
  const transaction = await writerOfMigrations(client);
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
      `${error.message}. Nothing was removed; the key ring is in ${ring.createdFile ?? 'its place'}. ` +
        'When the database answers, run the same command again: ' +
        'it reports that the backup is restored completely, or restores it',
      { cause: error },
    );
  }
  await head.discard();
  return { keyRingFile: ring.createdFile };
}

/** The id of the current transaction, from the rows of hub_migration, which every backup contains. */
async function writerOfMigrations(client: pg.Client): Promise<string | undefined> {
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

/** The head of the audit log that was noted before is that of another log. */
async function setHeadAside(headFile: string) {
  const aside = headAside(headFile);
  const isThere = await rename(headFile, aside).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
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
 * @throws Error if the database has rows; if they are this backup's, its key ring is in its place afterwards.
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

/** What a hub does as well when it starts. */
async function finish(db: Database): Promise<void> {
  try {
    await bringUpToDate({ db, actor: ACTOR, clock: systemClock });
    await makePartitions(db.pool, new Date());
  } catch (error) {
    const reason = messageOf(error);
    throw new Error(
      'the backup is restored, with its key ring; only its schema could not be brought up to date ' +
        `(${reason}): ` +
        'run hubctl migration apply with the same settings, then start the hub',
      { cause: error },
    );
  }
}
