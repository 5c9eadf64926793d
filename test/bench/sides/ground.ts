// What all servers of a run stand on: a directory, PostgreSQL and Redis.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFlushingPostgres } from '../../support/postgres/databases.ts';
import { findRedis, foundRedis } from '../../support/redis/redis.ts';
import type { Start } from '../interruptible.ts';

export type Ground = {
  /** Removed at the end. */
  readonly directory: string;
  /** Empty without one. */
  readonly redisUrl: string;
  /** Starts a server that is stopped at the end. */
  begin<T extends { stop(): Promise<void> }>(server: () => Promise<T>): Promise<T>;
};

export async function startGround(start: Start): Promise<Ground> {
  const directory = await start(
    () => mkdtemp(join(tmpdir(), 'hub-bench-')),
    (path) => rm(path, { recursive: true, force: true }),
  );
  await start(startFlushingPostgres, (stop) => stop());
  await start(findRedis, (stop) => stop());
  return { directory, redisUrl: foundRedis(), begin: (server) => start(server, (started) => started.stop()) };
}
