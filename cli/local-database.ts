// The database of a hub as commands on the hub's own machine reach it, without a hub.
import { pino } from 'pino';
import { openHubDatabase } from '../core/hub.ts';
import { openDataDir } from '../core/storage/data-dir.ts';
import type { Database } from '../core/storage/database.ts';
import { startEmbeddedPostgres } from '../core/storage/embedded-postgres.ts';
import type { Settings } from './settings.ts';

/**
 * Opens the database that `serve` would use with these settings, starting the embedded PostgreSQL if it does not run,
 * and leaves everything as it was found.
 */
export async function withLocalDatabase<T>(
  { databaseUrl }: Settings,
  dataDir: string,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  await using undo = new AsyncDisposableStack();
  let url = databaseUrl;
  if (url === undefined) {
    const { path } = await openDataDir(dataDir);
    const server = await startEmbeddedPostgres({ dataDir: path });
    undo.defer(() => (server.reused ? Promise.resolve() : server.stop()));
    url = server.url;
  }
  const db = await openHubDatabase(url, 2, pino({ level: 'silent' }));
  undo.defer(() => db.close());
  return await work(db);
}
