// What mocha runs once after all tests: stops the servers that tests shared.
import { stopPostgres } from './postgres.ts';
import { stopRedis } from './redis.ts';

export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([stopPostgres(), stopRedis()]);
}
