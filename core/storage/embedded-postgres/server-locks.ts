// The locks of the embedded PostgreSQL: of the hub that runs on it, and of the commands that use it. They say
// who may stop the server.
//
// They are advisory locks, because they must last as long as their connections. Only accounts that can read
// the data directory can connect to this server. The constants are arbitrary.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { dedicatedClient, endClient } from '../connection/client.ts';
import { isDatabaseUnavailable } from '../sql/transient-errors.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './start.ts';

/** Held by the hub. */
const OWNER_LOCK = 4_715_100;
/**
 * Commands share it, and a hub shares it until it is the owner. A command holds it alone while it stops the
 * server, so that no program begins to use that server.
 */
export const USE_LOCK = 4_715_101;
const ATTEMPTS = 3;

export type ServerUse = {
  readonly server: EmbeddedPostgres;
  /** The use of the server ends with this connection. */
  readonly client: pg.Client;
  /**
   * Leaves the server running when this process exits. Without this call, the exit stops a server that this
   * process started, unless another use has begun since.
   */
  leaveAtExit(): void;
  /** Whether no other use has begun since. It works while the process exits. */
  isNewest(): boolean;
};

/**
 * Starts the server or finds the running one, and connects. No command stops the server until the connection
 * ends or `becomeOwner` resolves.
 */
export async function beginUse(options: EmbeddedPostgresOptions, name: string): Promise<ServerUse> {
  let isNewest = (): boolean => false;
  /** Whether this process started the server, now or at an earlier attempt. */
  let startedHere = false;
  const beforeStart = async (location: string): Promise<void> => {
    if (isNewest()) return;
    startedHere = false; // others have used the server since, or have started another one
    isNewest = await becomeNewest(location);
  };
  for (let attempt = 1; ; attempt++) {
    const server = await startEmbeddedPostgres({ ...options, beforeStart });
    startedHere ||= !server.reused;
    // A second signal ends the process at once, and leaves no time to ask whether others use the server.
    const beginStop = (): void => {
      if (startedHere && isNewest()) server.beginStop();
    };
    const leaveAtExit = (): void => void process.off('exit', beginStop);
    process.on('exit', beginStop);
    const client = dedicatedClient(server.url, name);
    client.on('error', () => {}); // 'end' follows
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [USE_LOCK]);
      return { server, client, leaveAtExit, isNewest };
    } catch (error) {
      await endClient(client);
      leaveAtExit();
      // A command may have stopped the server since it was found.
      if (attempt < ATTEMPTS && isDatabaseUnavailable(error)) continue;
      // Without a connection, the locks cannot say whether others use it.
      if (startedHere && isNewest()) await server.stop();
      throw error;
    }
  }
}

/**
 * Returns a function that says whether no other use has begun since. It works while the process exits. Called
 * before the start, because others can use the server before this process knows that it runs.
 */
async function becomeNewest(location: string): Promise<() => boolean> {
  const file = join(location, 'data/newest-use');
  const id = randomUUID();
  await rm(file, { force: true }); // it may belong to another account
  await writeFile(file, id);
  return () => {
    try {
      return readFileSync(file, 'utf8') === id;
    } catch {
      return false; // another program is writing it
    }
  };
}

/** Resolves with whether this hub is the owner. The connection must be that of `beginUse`. */
export async function becomeOwner(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [OWNER_LOCK]);
  await client.query('select pg_advisory_unlock_shared($1)', [USE_LOCK]);
  return rows[0].mine;
}

/**
 * Resolves with whether no hub and no other command uses the server. If so, others wait from then on until it
 * has stopped or this connection ends. Of several commands that end at the same time, one is the last.
 */
export async function isLastUse(client: pg.Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [USE_LOCK]);
  for (const lock of [USE_LOCK, OWNER_LOCK]) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as mine', [lock]);
    if (!rows[0].mine) return false;
  }
  return true;
}
