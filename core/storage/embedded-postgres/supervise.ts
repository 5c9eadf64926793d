// Runs the embedded PostgreSQL for one hub: locks its data directory, restarts the server if it dies, and
// shuts it down when the process exits.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { dedicatedClient } from '../connection/client.ts';
import type { DataDir } from '../data-dir.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts';

export type OwnedPostgres = Awaited<ReturnType<typeof ownPostgres>>;

export type OwnOptions = {
  readonly dataDir: DataDir;
  /** As in `startEmbeddedPostgres`. */
  readonly maxConnections?: number;
  readonly log: (line: string) => void;
  /** Called if the server died and could not be restarted, or another hub has taken it over. */
  readonly onLost: (error: Error) => void;
};

// An advisory lock, because it must last as long as its connection. Only users who can read the data
// directory can connect to this server, and no session waits for the lock. The constant is arbitrary.
const OWNER_LOCK = 4_715_100;
const RESTARTS = 5;
const RESTART_DELAY_MS = 1_000;

/** @throws Error if another hub runs on this data directory. */
export async function ownPostgres({ dataDir, log, onLost, ...limits }: OwnOptions) {
  const path = dataDir.path;
  let stopping = false;
  /** Another hub may take over the data directory while this one does not hold the lock. */
  let isLocked = false;
  let restarting: Promise<void> = Promise.resolve();

  const startAndLock = async (more: Pick<EmbeddedPostgresOptions, 'pickPort'> = {}) => {
    const server = await startEmbeddedPostgres({ dataDir: path, log, ...limits, ...more });
    const lock = await takeLock(server, path, onGone).catch(async (error) => {
      if (!server.reused) await server.stop();
      throw error;
    });
    isLocked = true;
    return { server, lock };
  };
  const restart = async (): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      await setTimeout(RESTART_DELAY_MS);
      if (stopping) return;
      try {
        // On the same port, which the hub's pool uses.
        const port = Number(new URL(owned.server.url).port);
        owned = await startAndLock({ pickPort: async () => port });
        return log('PostgreSQL is running again');
      } catch (error) {
        if (attempt < RESTARTS) continue;
        return onLost(new Error(`PostgreSQL in ${path} stopped and cannot be restarted`, { cause: error }));
      }
    }
  };
  const onGone = (): void => {
    if (stopping) return;
    isLocked = false;
    log('PostgreSQL stopped: restarting it');
    restarting = restart();
  };

  let owned = await startAndLock();
  // A second signal or a crash ends the process without `stop`.
  const beginStop = (): void => {
    if (isLocked) owned.server.beginStop();
  };
  process.on('exit', beginStop);
  return {
    url: owned.server.url,
    /** Shuts the server down and unlocks the data directory. */
    async stop(): Promise<void> {
      stopping = true;
      await restarting;
      await owned.lock.end().catch(() => {}); // it may be gone already
      if (isLocked) await owned.server.stop();
      process.off('exit', beginStop);
    },
  };
}

/** The lock ends with its connection, so a hub that was killed leaves none behind. */
async function takeLock(server: EmbeddedPostgres, path: string, onGone: () => void): Promise<pg.Client> {
  const client = dedicatedClient(server.url, 'hub owner');
  client.on('error', () => {}); // 'end' follows
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
