// Takes a backup: the data of one moment and the key ring that opens it, encrypted, in one file.
import type { Writable } from 'node:stream';
import type pg from 'pg';
import type { Clock } from '../clock.ts';
import { JOB_SCHEMA } from '../payment/jobs.ts';
import { checkKeyRing } from '../storage/key-ring.ts';
import { lastingClient } from '../storage/lasting-client.ts';
import { formatKeyRing, type MasterKey } from '../storage/master-key.ts';
import { dumpDatabase } from './dump-database.ts';
import { type Lock, writeEnvelope } from './envelope.ts';
import type { Manifest } from './manifest.ts';

export type BackupOptions = {
  /** A `postgres://` URL. */
  readonly databaseUrl: string;
  readonly keys: readonly MasterKey[];
  readonly hubVersion: string;
  readonly lock: Lock;
  readonly clock: Clock;
};

/**
 * Writes and ends `file`. Hubs may work on the database meanwhile: everything is read in one snapshot.
 * @throws Error if the database has no schema yet, or is sealed with keys that are not in the ring.
 */
export async function takeBackup(options: BackupOptions, file: Writable): Promise<Manifest> {
  const { databaseUrl, keys, hubVersion, lock, clock } = options;
  const client = lastingClient(databaseUrl, 'hubctl backup');
  client.on('error', () => {}); // whatever waits for an answer then learns of it
  await client.connect();
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
    await client.query('begin isolation level repeatable read, read only');
    const now = clock();
    const facts = await readFacts(client);
    await checkKeyRing(client, keys);
    const manifest: Manifest = {
      format: 1,
      hubVersion,
      createdAt: now.toISOString(),
      masterKeyIds: keys.map(({ id }) => id),
      ...facts,
    };
    const contents = {
      manifest: `${JSON.stringify(manifest, undefined, 2)}\n`,
      keyRing: formatKeyRing(keys),
      dump: dumpDatabase(client, [await currentSchema(client), JOB_SCHEMA], now),
    };
    await writeEnvelope(contents, lock, file);
    await client.query('commit');
    return manifest;
  } finally {
    await client.end().catch(() => {}); // it may be gone already, which has been told
  }
}

async function readFacts(client: pg.Client) {
  const { rows } = await client.query<{ there: boolean; jobs: boolean; postgresVersion: string }>(
    `select to_regclass('hub_migration') is not null as there, to_regclass($1) is not null as jobs,
       current_setting('server_version') as "postgresVersion"`,
    [`${JOB_SCHEMA}.version`],
  );
  const { there = false, jobs = false, postgresVersion = '' } = rows[0] ?? {};
  if (!there) throw new Error('this database is no hub yet: there is nothing to back up');
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

/** The version of the queue's tables; the schema has to be there. */
export async function jobSchemaVersion(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ version: number }>(`select version from ${JOB_SCHEMA}.version`);
  return rows[0]?.version;
}

export async function currentSchema(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_schema() as name');
  return rows[0]?.name ?? 'public';
}
