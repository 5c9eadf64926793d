// Mocha runs the setup once before all tests in its main process. It starts the servers that the test files share.
import { config } from 'chai';
import { buildProgram } from './hub/bundled-program.ts';
import { keepFilesInMemory } from './memory-directory.ts';
import { dropDatabases, prepareTemplate, startPostgres } from './postgres/databases.ts';
import { findRedis } from './redis/redis.ts';

// After a long run, often only the message of a failure remains. By default chai shows 40 characters of a value in it.
// Mocha also loads this file in each worker.
config.truncateThreshold = 1_000;

const stops: (() => Promise<void>)[] = [];
let removeFiles: () => Promise<void> = async () => {};

export async function mochaGlobalSetup(): Promise<void> {
  removeFiles = await keepFilesInMemory();
  const program = buildProgram();
  stops.push(await startPostgres(), await findRedis());
  await prepareTemplate();
  stops.push(await program);
}

export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all(stops.map((stop) => stop()));
  await removeFiles();
}

/** Mocha runs this in each worker after each file. */
export const mochaHooks = { afterAll: dropDatabases };
