// Two hubs with a separate PostgreSQL and Redis.
import { once } from 'node:events';
import { startRedis } from '../../support/redis/redis.ts';
import { HUB_KILLED } from '../disruptions/hub-faults.ts';
import { POSTGRES_FAULTS } from '../disruptions/postgres-faults.ts';
import { REDIS_FAULTS, type RedisServer } from '../disruptions/redis-faults.ts';
import { startCluster } from './cluster.ts';
import { type PostgresServer, startServer } from './postgres-server.ts';
import type { Scene, Stage } from './scene.ts';

type ServersStage = Stage & { readonly postgres: PostgresServer; readonly redis: RedisServer };

export const SERVERS_SCENE: Scene<ServersStage> = {
  needs: 'Linux, and redis-server on the PATH',
  faults: [HUB_KILLED, ...POSTGRES_FAULTS, ...REDIS_FAULTS],
  open: process.platform === 'linux' ? openServers : async () => undefined,
};

async function openServers(): Promise<ServersStage | undefined> {
  await using undo = new AsyncDisposableStack();
  const redis = await ownRedis();
  if (redis === undefined) return undefined;
  undo.defer(() => redis.kill());
  const postgres = await startServer();
  undo.defer(() => postgres.discard());
  const cluster = await startCluster({
    hubs: 2,
    databaseUrl: postgres.url,
    environment: {
      REDIS_URL: redis.url,
      // High limits: requests are counted, but none is refused.
      HUB_LICENSE_RATE_PER_MINUTE: '1000000',
      HUB_WRONG_GUESSES: '1000000',
    },
  });
  undo.defer(() => cluster.stop());
  const resources = undo.move();
  return { cluster, postgres, redis, close: () => resources.disposeAsync() };
}

async function ownRedis(): Promise<RedisServer | undefined> {
  const first = await startRedis();
  if (first === undefined) return undefined;
  let child = first.process;
  return {
    url: first.url,
    signal: (name) => void child.kill(name),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async start() {
      const next = await startRedis(first.port);
      if (next === undefined) throw new Error('Redis does not come back');
      child = next.process;
    },
  };
}
