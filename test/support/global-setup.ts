// What mocha runs once around all tests, in its main process: the servers that the test files share.
import { startPostgres } from './postgres.ts';
import { findRedis } from './redis.ts';

const stops: (() => Promise<void>)[] = [];

export async function mochaGlobalSetup(): Promise<void> {
  stops.push(await startPostgres(), await findRedis());
}

export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all(stops.map((stop) => stop()));
}
