// Takes a backup: a snapshot of the database and the key ring, in one encrypted file.
import type { Writable } from 'node:stream';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Clock } from '../clock.ts';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import { hasMigrations } from '../storage/schema/migrate.ts';
import { formatKeyRing, type MasterKey } from '../storage/secrets/key-ring-file.ts';
import { checkKeyRing } from '../storage/secrets/load-key-ring.ts';
import { openCopyConnection } from './copy-connection.ts';
import type { PassphraseOptions } from './encryption.ts';
import { listTables, quote, readSequences, readTables } from './list-tables.ts';
import { FORMAT, isFileSafe, type Manifest, type SequenceEntry, type TableEntry } from './manifest.ts';
import { writeArchive } from './write-archive.ts';

export type BackupOptions = {
  readonly address: DatabaseAddress;
  readonly keys: readonly MasterKey[];
  readonly hubVersion: string;
  readonly encryption: PassphraseOptions;
  readonly clock: Clock;
  /** Aborts the backup at once. */
  readonly signal?: AbortSignal;
};

/**
 * Writes and ends `file`. Hubs may use the database meanwhile: everything is read in one snapshot.
 * @throws Error if the database has no schema yet, contains secrets that the key ring cannot decrypt, or has
 * tables that cannot be backed up
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
      tables: await tablesToBackUp(client),
      sequences: await usedSequences(client),
    };
    const rowsOf = (table: TableEntry) => copyOut(client, table);
    await writeArchive({ manifest, keyRing: formatKeyRing(keys), rowsOf }, encryption, file);
    await client.query('commit');
    return manifest;
  } finally {
    await client.end().catch(() => {}); // it may be closed already
  }
}

async function requireHub(client: pg.Client): Promise<void> {
  if (!(await hasMigrations(client)))
    throw new Error('this database has no hub yet: there is nothing to back up');
}

/**
 * Locks the tables first, as pg_dump does, so that no migration and no pruning changes them after the
 * snapshot. Reads and writes do not wait.
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

/** The version of the queue's schema. Its tables must exist. */
export async function jobSchemaVersion(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ version: number }>(`select version from version`);
  return rows[0]?.version;
}

async function tablesToBackUp(client: pg.Client): Promise<TableEntry[]> {
  const tables = await readTables(client);
  const odd = tables.find(({ schema, name }) => !isFileSafe(schema) || !isFileSafe(name));
  if (odd === undefined) return tables;
  throw new Error(
    `the table ${quote(odd)} cannot be backed up: its name has other characters than letters, ` +
      'digits, _, - and $. Rename it, or move it to another schema',
  );
}

/** Reads the sequences after the snapshot, so that none is behind the rows. */
async function usedSequences(client: pg.Client): Promise<SequenceEntry[]> {
  return (await readSequences(client)).flatMap(({ lastValue, ...sequence }) =>
    lastValue === null ? [] : [{ ...sequence, lastValue }],
  );
}

function copyOut(client: pg.Client, table: TableEntry): AsyncIterable<Buffer> {
  const columns = table.columns.map((name) => pg.escapeIdentifier(name)).join(', ');
  // A query, because COPY does not read a partitioned table by its name.
  return client.query(copyTo(`copy (select ${columns} from ${quote(table)}) to stdout`));
}
