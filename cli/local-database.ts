// The database of a hub as commands on the hub's own machine reach it, without a hub.
import { pino } from 'pino';
import { openHubDatabase } from '../core/hub.ts';
import { openDataDir } from '../core/storage/data-dir.ts';
import type { Database } from '../core/storage/database.ts';
import { type DatabaseAddress, directAddress } from '../core/storage/database-address.ts';
import { startEmbeddedPostgres } from '../core/storage/embedded-postgres.ts';
import type { Settings } from './settings.ts';

/**
 * Opens the database that `serve` would use with these settings, past a pooler if there is a way, and leaves everything as it
 * was found.
 */
export async function withLocalDatabase<T>(
  settings: Settings,
  dataDir: string,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  await using undo = new AsyncDisposableStack();
  const db = await openQuietly(directAddress(await findLocalDatabase(settings, dataDir, undo)));
  undo.defer(() => db.close());
  return await work(db);
}

/** The address of that database; an embedded PostgreSQL that does not run is started, until `undo` stops it. */
export async function findLocalDatabase(
  { databaseUrl, databaseSchema: schema, databasePooler: pooler, databaseDirectUrl }: Settings,
  dataDir: string,
  undo: AsyncDisposableStack,
): Promise<DatabaseAddress> {
  if (databaseUrl !== undefined)
    return { url: databaseUrl.reveal(), schema, pooler, directUrl: databaseDirectUrl?.reveal() };
  const { path } = await openDataDir(dataDir);
  const server = await startEmbeddedPostgres({ dataDir: path });
  undo.defer(() => (server.reused ? Promise.resolve() : server.stop()));
  return { url: server.url, schema };
}

export function openQuietly(address: DatabaseAddress): Promise<Database> {
  return openHubDatabase(address, 2, pino({ level: 'silent' }));
}
