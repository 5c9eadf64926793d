// Runs the embedded PostgreSQL for one hub: keeps a second hub off its data directory, and brings it back if it dies.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import type { DataDir } from './data-dir.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { lastingClient } from './lasting-client.ts';

export type OwnedPostgres = {
  readonly url: string;
  /** Shuts the server down and lets go of the data directory. */
  stop(): Promise<void>;
};

export type OwnOptions = {
  readonly dataDir: DataDir;
  /** As in `startEmbeddedPostgres`. */
  readonly maxConnections?: number;
  readonly log: (line: string) => void;
  /** The server died and could not be brought back, or belongs to another hub by now: this one is of no more use. */
  readonly onLost: (error: Error) => void;
};

// Advisory, since it has to last as long as its connection. Only who reads the data directory can connect to this server,
// and nobody waits for the lock. Any constant will do, as long as nothing else in the database uses it.
const OWNER_LOCK = 4_715_100;
const RESTARTS = 5;
const RESTART_DELAY_MS = 1_000;

/** @throws Error if another hub runs on this data directory. */
export async function ownPostgres({ dataDir, log, onLost, ...limits }: OwnOptions): Promise<OwnedPostgres> {
  const path = dataDir.path;
  let server = await startEmbeddedPostgres({ dataDir: path, log, ...limits });
  let stopping = false;
  let returning: Promise<void> = Promise.resolve();

  const bringBack = async (): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      await setTimeout(RESTART_DELAY_MS);
      if (stopping) return;
      try {
        // On the port it had: the hub's pool knows no other.
        const port = Number(new URL(server.url).port);
        server = await startEmbeddedPostgres({ dataDir: path, log, pickPort: async () => port, ...limits });
        lock = await takeLock(server, path, onGone);
        return log('PostgreSQL is back');
      } catch (error) {
        if (attempt < RESTARTS) continue;
        return onLost(new Error(`PostgreSQL in ${path} died and does not come back`, { cause: error }));
      }
    }
  };
  const onGone = (): void => {
    if (stopping) return;
    log('PostgreSQL is gone: starting it again');
    returning = bringBack();
  };

  let lock = await takeLock(server, path, onGone).catch(async (error) => {
    if (!server.reused) await server.stop();
    throw error;
  });
  return {
    url: server.url,
    async stop() {
      stopping = true;
      await returning;
      await lock.end().catch(() => {}); // it may be gone already
      await server.stop();
    },
  };
}

/** A lock that lives as long as its connection does: it needs no clean-up after a hub that was killed. */
async function takeLock(server: EmbeddedPostgres, path: string, onGone: () => void): Promise<pg.Client> {
  const client = lastingClient(server.url, 'hub owner');
  client.on('error', () => {}); // the end that follows says it
  await client.connect();
  const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [OWNER_LOCK]);
  if (!rows[0].mine) {
    await client.end();
    throw new Error(
      `another hub runs on the data directory ${path}: stop it, or choose another with --data-dir`,
    );
  }
  client.once('end', onGone);
  return client;
}
