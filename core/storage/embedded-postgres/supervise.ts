// Runs the embedded PostgreSQL for one hub: locks its data directory, restarts the server if it dies, and
// shuts it down when the process exits.
import { setTimeout } from 'node:timers/promises';
import { endClient } from '../connection/client.ts';
import type { DataDir } from '../data-dir.ts';
import { becomeOwner, beginUse } from './server-locks.ts';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './start.ts';

export type OwnedPostgres = Awaited<ReturnType<typeof ownPostgres>>;

export type OwnOptions = {
  readonly dataDir: DataDir;
  /** As in `startEmbeddedPostgres`. */
  readonly maxConnections?: number;
  readonly log: (line: string) => void;
  /** Called if the server died and could not be restarted, or another hub has taken it over. */
  readonly onLost: (error: Error) => void;
};

const RESTARTS = 5;
/** A hub that has lost its lock takes it again after this time. */
export const RESTART_DELAY_MS = 1_000;

/** @throws Error if another hub runs on this data directory. */
export async function ownPostgres({ dataDir, log, onLost, ...limits }: OwnOptions) {
  const path = dataDir.path;
  let stopping = false;
  /** The server while this hub holds its lock. Another hub may take over the data directory otherwise. */
  let locked: EmbeddedPostgres | undefined;
  let restarting: Promise<void> = Promise.resolve();

  const startAndLock = async (more: Pick<EmbeddedPostgresOptions, 'pickPort'> = {}) => {
    const started = await startAsOwner({ dataDir: path, log, ...limits, ...more });
    if (started === undefined) {
      throw new Error(
        `another hub runs on the data directory ${path}: stop it, or choose another with --data-dir`,
      );
    }
    started.lock.once('end', onGone);
    locked = started.server;
    return started;
  };
  /** Starts the server on the port that the hub's pool uses. */
  const startOn = async (port: number) => {
    for (;;) {
      const started = await startAndLock({ pickPort: async () => port });
      if (stopping || portOf(started.server) === port) return started;
      log(`a command has started PostgreSQL on another port: starting it again on port ${port}`);
      locked = undefined;
      started.lock.off('end', onGone);
      await started.server.stop().finally(() => endClient(started.lock));
    }
  };
  const restart = async (): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      await setTimeout(RESTART_DELAY_MS);
      if (stopping) return;
      try {
        owned = await startOn(portOf(owned.server));
        return log('PostgreSQL is running again');
      } catch (error) {
        if (attempt < RESTARTS) continue;
        return onLost(new Error(`PostgreSQL in ${path} stopped and cannot be restarted`, { cause: error }));
      }
    }
  };
  const onGone = (): void => {
    if (stopping) return;
    locked = undefined;
    log('PostgreSQL stopped: restarting it');
    restarting = restart();
  };

  let owned = await startAndLock();
  // A second signal or a crash ends the process without `stop`.
  const beginStop = (): void => {
    if (locked !== undefined) locked.beginStop();
    // The lock can be lost while the server recovers: see `stop`. Another hub may have taken it.
    else if (owned.isNewest()) owned.server.beginStop('immediate');
  };
  process.on('exit', beginStop);
  return {
    url: owned.server.url,
    /** Shuts the server down and unlocks the data directory. */
    async stop(): Promise<void> {
      stopping = true;
      await restarting;
      try {
        // The lock can be lost while the server runs on: one of its processes has crashed.
        if (locked === undefined && (await owned.server.stillRuns())) {
          const again = await startAsOwner({ dataDir: path, log });
          if (again) owned = again;
          locked = again?.server;
        }
        await locked?.stop();
      } finally {
        // Not before: another hub would become the owner of a server that is about to stop.
        await endClient(owned.lock);
        process.off('exit', beginStop);
      }
    },
  };
}

/**
 * Undefined if another hub has the lock. The lock ends with its connection, so a hub that was killed leaves
 * none behind.
 */
async function startAsOwner(options: EmbeddedPostgresOptions) {
  const { server, client: lock, leaveAtExit, isNewest } = await beginUse(options, 'hub owner');
  if (await becomeOwner(lock).finally(leaveAtExit)) return { server, lock, isNewest };
  await lock.end();
  return undefined;
}

function portOf({ url }: EmbeddedPostgres): number {
  return Number(new URL(url).port);
}
