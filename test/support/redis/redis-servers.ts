// Separate Redis servers for one test: replicas, Sentinels, cluster nodes, TLS.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { until } from '../until.ts';

export type RedisServer = {
  readonly port: number;
  /** A client for the test. */
  readonly client: Redis;
  kill(signal?: NodeJS.Signals): Promise<void>;
};

export class RedisServers {
  readonly #servers: { child: ChildProcess; client: Redis; dir: string }[] = [];

  /** Starts a server with these configuration lines. */
  async start(
    lines: readonly string[],
    options: Pick<RedisOptions, 'tls'> = {},
    mode: '' | '--sentinel' = '',
  ): Promise<RedisServer> {
    const port = await freePort();
    const dir = await mkdtemp(join(tmpdir(), 'redis-test-'));
    const file = join(dir, 'redis.conf');
    const tls = options.tls !== undefined;
    const common = ['bind 127.0.0.1', `dir ${dir}`, tls ? `tls-port ${port}\nport 0` : `port ${port}`];
    await writeFile(
      file,
      [...common, ...(mode ? [] : ['save ""', 'appendonly no']), ...lines, ''].join('\n'),
    );
    const child = spawn('redis-server', mode ? [file, mode] : [file], { stdio: 'ignore' });
    const client = new Redis({
      ...options,
      host: '127.0.0.1',
      port,
      retryStrategy: () => 50,
      maxRetriesPerRequest: null,
    });
    client.on('error', () => {}); // the server is starting, or the test killed it
    this.#servers.push({ child, client, dir });
    await until(async () => client.status === 'ready', `redis-server on port ${port} answers`);
    return {
      port,
      client,
      async kill(signal = 'SIGKILL') {
        child.kill(signal);
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      },
    };
  }

  async stop(): Promise<void> {
    for (const { child, client, dir } of this.#servers) {
      client.disconnect();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await rm(dir, { recursive: true, force: true });
    }
  }
}
