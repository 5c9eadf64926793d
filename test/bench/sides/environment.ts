// The environment of all servers in a run: a directory, PostgreSQL and Redis.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFlushingPostgres } from '../../support/postgres/databases.ts';
import { findRedis, foundRedis } from '../../support/redis/redis.ts';
import type { Start } from '../interruptible.ts';

export type Environment = {
  /** Removed at the end of the run. */
  readonly directory: string;
  /** Empty if there is no Redis. */
  readonly redisUrl: string;
  /** Starts a server, which is stopped at the end of the run. */
  begin<T extends { stop(): Promise<void> }>(server: () => Promise<T>): Promise<T>;
};

export async function startEnvironment(start: Start): Promise<Environment> {
  const directory = await start(
    () => mkdtemp(join(tmpdir(), 'hub-bench-')),
    (path) => rm(path, { recursive: true, force: true }),
  );
  await start(startFlushingPostgres, (stop) => stop());
  await start(findRedis, (stop) => stop());
  return { directory, redisUrl: foundRedis(), begin: (server) => start(server, (started) => started.stop()) };
}
