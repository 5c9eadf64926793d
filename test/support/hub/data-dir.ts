// Creates, reads and removes data directories for tests.
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runningServer } from '../../../core/storage/embedded-postgres/lock-file.ts';
import { until } from '../until.ts';

/** A new, empty directory that only its owner can enter. */
export function makeDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hub-test-'));
}

/** The admin token that the hub of a data directory has created. */
export async function localToken(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
}

/** Whether the embedded PostgreSQL of a data directory runs. */
export async function postgresRuns(dataDir: string): Promise<boolean> {
  return (await runningServer(join(dataDir, 'postgres/data'))) !== undefined;
}

/**
 * Removes a data directory, the PostgreSQL that a test left running in it and, under root, the cluster
 * outside of it.
 */
export async function discard(dataDir: string): Promise<void> {
  const server = await runningServer(join(dataDir, 'postgres/data'));
  if (server !== undefined) {
    process.kill(server.pid, 'SIGQUIT');
    await until(async () => !(await postgresRuns(dataDir)), `the PostgreSQL in ${dataDir} has stopped`);
  }
  const cluster = await realpath(join(dataDir, 'postgres')).catch(() => undefined); // there is none
  for (const path of [cluster, dataDir]) {
    if (path !== undefined) await rm(path, { recursive: true, force: true });
  }
}
