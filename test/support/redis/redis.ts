// The Redis of a test run: REDIS_URL, the standard port, a redis-server started from PATH, or none.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import type { Context } from 'mocha';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';

/** The variable with the URL of the run's Redis for the workers. Empty if there is none. */
const VARIABLE = 'HUB_TEST_REDIS';

/** The URL of a Redis that responds. Without one the suite is pending, but fails under CI. */
export function requireRedis(test: Context): string {
  const url = foundRedis();
  if (url) return url;
  const reason = 'no Redis: set REDIS_URL, or put redis-server on the PATH';
  if (process.env['CI'] === 'true') throw new Error(reason);
  process.stderr.write(`      pending: ${reason}\n`);
  return test.skip();
}

/**
 * For tests that start their own servers. Without redis-server on the PATH the suite is pending, but fails
 * under CI.
 */
export async function requireRedisServer(test: Context): Promise<void> {
  const found = await promisify(execFile)('redis-server', ['--version']).then(
    () => true,
    () => false,
  );
  if (found) return;
  const reason = 'no redis-server on the PATH';
  if (process.env['CI'] === 'true') throw new Error(reason);
  process.stderr.write(`      pending: ${reason}\n`);
  test.skip();
}

/** The URL of the Redis that `findRedis` found. Empty if there is none. */
export function foundRedis(): string {
  return process.env[VARIABLE] ?? '';
}

/**
 * Finds a Redis for this process and its children. Returns a function that stops it if this run started it.
 */
export async function findRedis(): Promise<() => Promise<void>> {
  const standard = 'redis://127.0.0.1:6379';
  const known = process.env['REDIS_URL'] || ((await answers(standard)) ? standard : undefined);
  const own = known === undefined ? await startRedis() : undefined;
  process.env[VARIABLE] = known ?? own?.url ?? '';
  return async () => {
    if (own === undefined) return;
    own.process.kill('SIGTERM');
    await once(own.process, 'exit');
  };
}

/** A separate Redis that the test can stop and restart. Undefined without redis-server on the PATH. */
export async function startRedis(
  port?: number,
): Promise<{ url: string; port: number; process: ChildProcess } | undefined> {
  const chosen = port ?? (await freePort());
  const child = spawn(
    'redis-server',
    ['--port', String(chosen), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: 'ignore',
    },
  );
  const failed = once(child, 'error').then(
    () => true,
    () => false,
  );
  const url = `redis://127.0.0.1:${chosen}`;
  for (let attempt = 0; attempt < 50; attempt++) {
    if (await answers(url)) return { url, port: chosen, process: child };
    const gone = await Promise.race([
      failed,
      new Promise<false>((resolve) => setTimeout(resolve, 100, false)),
    ]);
    if (gone) return undefined;
  }
  child.kill('SIGKILL');
  return undefined;
}

async function answers(url: string): Promise<boolean> {
  const redis = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 500,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {}); // the caller gets the error from its command
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
