// Takes a backup: a snapshot of the database and the key ring, in one encrypted file.
import type { Writable } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Clock } from '../clock.ts';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import { hasMigrations } from '../storage/schema/migrate.ts';
import { checkKeyRing } from '../storage/secrets/key-ring.ts';
import { formatKeyRing, type MasterKey } from '../storage/secrets/master-key.ts';
import { openCopyConnection } from './copy-connection.ts';
import type { PassphraseOptions } from './encryption.ts';
import { FORMAT, isFileSafe, type Manifest, type SequenceEntry, type TableEntry } from './manifest.ts';
import { listTables, quote, readSequences, readTables } from './tables.ts';
import { writeArchive } from './write-archive.ts';

export type BackupOptions = {
  readonly address: DatabaseAddress;
  readonly keys: readonly MasterKey[];
  readonly hubVersion: string;
  readonly encryption: PassphraseOptions;
  readonly clock: Clock;
  /** Ends the backup, whatever it waits for. */
  readonly signal?: AbortSignal;
};

/**
 * Writes and ends `file`. Hubs may work on the database meanwhile: everything is read in one snapshot.
 * @throws Error if the database has no schema yet, is sealed with keys that are not in the ring, or has
 * tables that cannot be carried.
 */
export async function takeBackup(options: BackupOptions, file: Writable): Promise<Manifest> {
  const { address, keys, hubVersion, encryption, clock, signal } = options;
  const client = await openCopyConnection(address, 'hubctl backup', signal);
  try {
    await requireHub(client);
    await beginSnapshot(client);
    const now = clock();
    await checkKeyRing(client, keys);
    const manifest: Manifest = {
      format: FORMAT,
      hubVersion,
      createdAt: now.toISOString(),
      ...(await readVersions(client)),
      masterKeyIds: keys.map(({ id }) => id),
      tables: await carriedTables(client),
      sequences: await usedSequences(client),
    };
    const rowsOf = (table: TableEntry) => copyOut(client, table);
    await writeArchive({ manifest, keyRing: formatKeyRing(keys), rowsOf }, encryption, file);
    await client.query('commit');
    return manifest;
  } finally {
    await client.end().catch(() => {}); // it may be gone already, which has been said
  }
}

async function requireHub(client: pg.Client): Promise<void> {
  if (!(await hasMigrations(client)))
    throw new Error('this database has no hub yet: there is nothing to back up');
}

/**
 * Locks the tables first, as pg_dump does: no migration, and no pruning of old months, changes them after the
 * snapshot was taken. Reads and writes go on.
 */
async function beginSnapshot(client: pg.Client): Promise<void> {
  const tables = await listTables(client);
  await client.query('begin isolation level repeatable read, read only');
  await client.query(`lock table ${tables.map(quote).join(', ')} in access share mode`);
}

async function readVersions(client: pg.Client) {
  const { rows } = await client.query<{ jobs: boolean; postgresVersion: string }>(
    `select to_regclass('version') is not null as jobs, current_setting('server_version') as
     "postgresVersion"`,
  );
  const { jobs = false, postgresVersion = '' } = rows[0] ?? {};
  const { rows: applied } = await client.query<{ name: string }>(
    'select name from hub_migration order by id',
  );
  const version = jobs ? await jobSchemaVersion(client) : undefined;
  return {
    postgresVersion,
    migrations: applied.map(({ name }) => name),
    ...(version !== undefined && { jobSchemaVersion: version }),
  };
}

/** The version of the queue's tables; they have to be there. */
export async function jobSchemaVersion(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ version: number }>(`select version from version`);
  return rows[0]?.version;
}

async function carriedTables(client: pg.Client): Promise<TableEntry[]> {
  const tables = await readTables(client);
  const odd = tables.find(({ schema, name }) => !isFileSafe(schema) || !isFileSafe(name));
  if (odd === undefined) return tables;
  throw new Error(
    `the table ${quote(odd)} cannot be backed up: its name has other characters than letters, ` +
      'digits, _, - and $. Rename it, or move it to another schema',
  );
}

/** Read after the snapshot was taken: a position is never behind the rows. */
async function usedSequences(client: pg.Client): Promise<SequenceEntry[]> {
  return (await readSequences(client)).flatMap(({ lastValue, ...sequence }) =>
    lastValue === null ? [] : [{ ...sequence, lastValue }],
  );
}

function copyOut(client: pg.Client, table: TableEntry): AsyncIterable<Buffer> {
  const columns = table.columns.map((name) => pg.escapeIdentifier(name)).join(', ');
  // Through a query: a partitioned table is copied as one table, and its rows find their partitions when
  // restored.
  return client.query(copyTo(`copy (select ${columns} from ${quote(table)}) to stdout`));
}
