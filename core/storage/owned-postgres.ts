// Starts the embedded PostgreSQL for one hub, and keeps a second hub off the same data directory.
import pg from 'pg';
import type { DataDir } from './data-dir.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';

export type OwnedPostgres = {
  readonly url: string;
  /** Shuts the server down and lets go of the data directory. */
  stop(): Promise<void>;
};

// Any constant will do, as long as nothing else in the database uses it.
const OWNER_LOCK = 4_715_100;

/** @throws Error if another hub runs on this data directory. */
export async function ownPostgres(dataDir: DataDir, log: (line: string) => void): Promise<OwnedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log });
  // A lock that lives as long as the connection does: it needs no clean-up after a hub that was killed.
  const client = new pg.Client({
    connectionString: server.url,
    application_name: 'hub owner',
    keepAlive: true,
  });
  client.on('error', (error) =>
    log(`the connection that holds the data directory was lost: ${error.message}`),
  );
  try {
    await client.connect();
  } catch (error) {
    if (!server.reused) await server.stop();
    throw error;
  }
  const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [OWNER_LOCK]);
  if (!rows[0].mine) {
    await client.end();
    throw new Error(
      `another hub runs on the data directory ${dataDir.path}: stop it, or choose another with --data-dir`,
    );
  }
  return {
    url: server.url,
    async stop() {
      await client.end();
      await server.stop();
    },
  };
}
