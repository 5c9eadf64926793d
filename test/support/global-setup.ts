// Mocha runs this once before all tests in its main process. It starts the servers that the test files share.
import { prepareTemplate, startPostgres } from './postgres/databases.ts';
import { findRedis } from './redis/redis.ts';

const stops: (() => Promise<void>)[] = [];

export async function mochaGlobalSetup(): Promise<void> {
  stops.push(await startPostgres(), await findRedis());
  await prepareTemplate();
}

export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all(stops.map((stop) => stop()));
}
