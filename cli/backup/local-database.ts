// Opens the hub's database for commands on the hub's own machine, without a running hub.
import { pino } from 'pino';
import { openHubDatabase } from '../../core/hub/database.ts';
import { type DatabaseAddress, directAddress } from '../../core/storage/connection/database-address.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import type { Database } from '../../core/storage/database.ts';
import { postgresForCommand } from '../../core/storage/embedded-postgres/for-command.ts';
import type { Settings } from '../serve/setting-table.ts';

/**
 * Opens the database that `serve` uses with these settings, bypassing a pooler if possible, and restores the
 * previous state afterwards. A hub may start meanwhile.
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

/**
 * Returns the address of that database, and starts a stopped embedded PostgreSQL. `undo` stops it, unless a hub or
 * another command uses it.
 */
export async function findLocalDatabase(
  { databaseUrl, databaseSchema: schema, databasePooler: pooler, databaseDirectUrl }: Settings,
  dataDir: string,
  undo: AsyncDisposableStack,
): Promise<DatabaseAddress> {
  if (databaseUrl !== undefined)
    return { url: databaseUrl.reveal(), schema, pooler, directUrl: databaseDirectUrl?.reveal() };
  const { path } = await openDataDir(dataDir);
  const postgres = await postgresForCommand(path);
  undo.defer(() => postgres.close());
  return { url: postgres.url, schema };
}

export function openQuietly(address: DatabaseAddress): Promise<Database> {
  return openHubDatabase(address, 2, pino({ level: 'silent' }));
}
