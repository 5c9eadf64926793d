// The Redis that operators run: Sentinels, a cluster, TLS with a private authority, and servers that refuse writes.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { type DestinationStream, pino } from 'pino';
import { openRedis, type RedisClient } from '../../../../core/storage/redis/open-redis.ts';
import { parseRedisAddress } from '../../../../core/storage/redis/redis-address.ts';
import { type RedisHealth, watchRedis } from '../../../../core/storage/redis/redis-health.ts';
import { createLimitStore, type Limiter } from '../../../../gateway/limits/limit-store.ts';
import { type Certificates, makeCertificates } from '../../../support/network/certificates.ts';
import { requireRedisServer } from '../../../support/redis/redis.ts';
import { type RedisServer, RedisServers } from '../../../support/redis/redis-servers.ts';
import { until } from '../../../support/until.ts';

describe('Redis', () => {
  let servers: RedisServers;
  let certificates: Certificates;
  const clients: RedisClient[] = [];
  const watches: RedisHealth[] = [];
  before(async function () {
    await requireRedisServer(this);
    servers = new RedisServers();
    certificates = await makeCertificates();
  });
  after(async () => {
    await certificates?.remove();
    await servers?.stop();
  });
  afterEach(async () => {
    for (const watch of watches.splice(0)) await watch.stop();
    for (const client of clients.splice(0)) client.disconnect();
  });

  /** A connection as a hub has it, with the lines of its log. */
  const connect = async (url: string, { isCluster = false, caFile = '' } = {}) => {
    const lines: string[] = [];
    const stream: DestinationStream = { write: (line) => void lines.push(line) };
    let health: RedisHealth | undefined;
    const source = { address: parseRedisAddress(url), isCluster, ...(caFile && { caFile }) };
    const client = await openRedis(source, (error) => health?.noteError(error));
    health = watchRedis(client, pino({}, stream));
    clients.push(client);
    watches.push(health);
    let fallbacks = 0;
    const counts = createLimitStore(client, () => {
      fallbacks += 1;
    });
    const limiter = counts.limiter({ name: 'test', points: 1_000, seconds: 60 });
    await until(
      () => client.status === 'ready' || client.status === 'reconnecting',
      'the client has connected',
    );
    return { client, health, lines, counts, limiter, fallbacks: () => fallbacks };
  };
  const untilInSync = (replica: RedisServer) =>
    until(
      async () => (await replica.client.info('replication')).includes('master_link_status:up'),
      'the replica is in sync',
    );
  const consumed = async (limiter: Limiter, key: string) => (await limiter.consume(key)).consumedPoints;

  const startSentinels = async (primary: RedisServer, count: number): Promise<RedisServer[]> => {
    const sentinels: RedisServer[] = [];
    for (let each = 0; each < count; each++) {
      sentinels.push(
        await servers.start(
          [
            `sentinel monitor main 127.0.0.1 ${primary.port} ${Math.ceil(count / 2)}`,
            'sentinel down-after-milliseconds main 500',
            'sentinel failover-timeout main 3000',
          ],
          {},
          '--sentinel',
        ),
      );
    }
    return sentinels;
  };

  it('keeps counting on the new primary after a Sentinel failover', async () => {
    const primary = await servers.start([]);
    const replica = await servers.start([`replicaof 127.0.0.1 ${primary.port}`]);
    const sentinels = await startSentinels(primary, 3);
    const [watcher] = sentinels;
    await until(
      async () => {
        const found = (await watcher?.client.call('sentinel', 'master', 'main')) as string[];
        const told = (name: string) => found[found.indexOf(name) + 1];
        return told('num-other-sentinels') === '2' && told('num-slaves') === '1';
      },
      'the Sentinels know each other and the replica',
      20_000,
    );

    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { client, limiter, health } = await connect(`redis-sentinel://${hosts}/main`);
    await until(() => client.status === 'ready', 'the client has found the primary');
    expect(await consumed(limiter, 'before')).to.equal(1);
    await primary.kill();
    await until(
      async () => {
        // Sentinels that vote at the same time may elect nobody for many seconds, so one begins. It returns
        // an error during a failover.
        await watcher?.client.call('sentinel', 'failover', 'main').catch(() => {});
        await limiter.consume('after').catch(() => {});
        return Number(await replica.client.get('hub:rate:test:after').catch(() => null)) > 0;
      },
      'the new primary counts',
      50_000,
    );
    await until(() => health.state === 'up', 'Redis is healthy again');
  });

  it('connects again if a failover is announced while it asks a Sentinel for the primary', async () => {
    const primary = await servers.start([]);
    const [sentinel] = await startSentinels(primary, 1);
    const { client, limiter } = await connect(`redis-sentinel://127.0.0.1:${sentinel?.port}/main`);
    await until(() => client.status === 'ready', 'the client has found the primary');
    const ended = new Promise<void>((resolve) => void client.once('end', resolve));
    void sentinel?.kill('SIGSTOP'); // resolves when the Sentinel exits
    await primary.client.call('client', 'kill', 'type', 'normal').catch(() => {}); // ends this connection too
    await until(() => client.status === 'connecting', 'the client asks the Sentinel');
    // ioredis does this when a Sentinel announces a failover.
    (client as unknown as { readonly connector: { disconnect(): void } }).connector.disconnect();
    await ended;
    void sentinel?.kill('SIGCONT');
    await until(() => client.status === 'ready', 'the client has found the primary again');
    expect(await consumed(limiter, 'again')).to.equal(1);
  });

  it('counts across all nodes of a cluster, and after a failover', async () => {
    const nodes: RedisServer[] = [];
    for (let each = 0; each < 4; each++) {
      nodes.push(await servers.start(['cluster-enabled yes', 'cluster-node-timeout 500']));
    }
    const [first, second, third, spare] = nodes as [RedisServer, RedisServer, RedisServer, RedisServer];
    const ranges = [
      [first, '0', '5460'],
      [second, '5461', '10922'],
      [third, '10923', '16383'],
    ] as const;
    for (const [node, from, to] of ranges) await node.client.call('cluster', 'addslotsrange', from, to);
    for (const node of [second, third, spare]) {
      await node.client.call('cluster', 'meet', '127.0.0.1', String(first.port));
    }
    const isWhole = async (node: RedisServer) =>
      String(await node.client.call('cluster', 'info')).includes('cluster_state:ok');
    await until(
      async () => (await Promise.all(nodes.map(isWhole))).every(Boolean),
      'the cluster is whole',
      20_000,
    );
    const thirdId = String(await third.client.call('cluster', 'myid'));
    await until(async () => {
      const answer = await spare.client.call('cluster', 'replicate', thirdId).catch(() => 'unknown');
      return answer === 'OK';
    }, 'the spare node is a replica');
    await untilInSync(spare);

    const { client, limiter, counts, fallbacks, health } = await connect(
      `redis://127.0.0.1:${first.port},127.0.0.1:${second.port}`,
      { isCluster: true },
    );
    await until(() => client.status === 'ready', 'the client knows the cluster');
    const keys = Array.from({ length: 30 }, (_, index) => `client-${index}`);
    for (const key of keys) expect(await consumed(limiter, key)).to.equal(1);
    for (const key of keys) expect((await limiter.get(key))?.consumedPoints).to.equal(1);
    for (const key of keys) counts.shared?.remember(key, 60);
    expect(fallbacks()).to.equal(0);
    const sizes = await Promise.all([first, second, third].map(({ client }) => client.dbsize()));
    for (const size of sizes) expect(size).to.be.greaterThan(5);

    await third.kill();
    await until(
      async () => {
        const before = fallbacks();
        for (const key of keys) await limiter.consume(key);
        return fallbacks() === before;
      },
      'all nodes count again',
      30_000,
    );
    expect(await spare.client.dbsize()).to.be.greaterThan(0);
    await until(() => health.state === 'up', 'Redis is healthy again');
  });

  it('is unhealthy if a cluster node is used as a single server', async () => {
    const node = await servers.start(['cluster-enabled yes']);
    await node.client.call('cluster', 'addslotsrange', '0', '16383');
    const isUp = async () => String(await node.client.call('cluster', 'info')).includes('cluster_state:ok');
    await until(isUp, 'the cluster is up: before that, it refuses writes for another reason');
    const { health, lines } = await connect(`redis://127.0.0.1:${node.port}`);
    await until(() => health.state === 'refuses writes', 'the state is known');
    expect(lines.join('')).to.contain('Redis refuses writes, requests are counted in memory');
    expect(lines.join('')).to.contain('REDIS_CLUSTER=1');
  });

  it('is unhealthy as a replica, and requests are counted in memory', async () => {
    const primary = await servers.start([]);
    const replica = await servers.start([`replicaof 127.0.0.1 ${primary.port}`]);
    const { health, lines, limiter, fallbacks } = await connect(`redis://127.0.0.1:${replica.port}`);
    await until(() => health.state === 'refuses writes', 'the state is known');
    for (const expected of [1, 2, 3]) expect(await consumed(limiter, 'a')).to.equal(expected);
    expect(fallbacks()).to.equal(3);
    expect(lines.join('')).to.match(/Redis refuses writes[^\n]*READONLY/);
    await replica.client.call('replicaof', 'no', 'one');
    await until(() => health.state === 'up', 'the promoted replica is healthy');
    expect(lines.filter((line) => line.includes('Redis answers again'))).to.have.length(1);
  });

  it('is unhealthy with full memory', async () => {
    const server = await servers.start(['maxmemory 1', 'maxmemory-policy noeviction']);
    const { health, lines } = await connect(`redis://127.0.0.1:${server.port}`);
    await until(() => health.state === 'refuses writes', 'the state is known');
    expect(lines.join('')).to.match(/Redis refuses writes[^\n]*OOM/);
    await server.client.config('SET', 'maxmemory', '0');
    await until(() => health.state === 'up', 'Redis is healthy again');
  });

  it('is verified over TLS by a private authority', async () => {
    const issuer = await certificates.createIssuer('redis-ca');
    const { cert, key } = await issuer.issue('/CN=redis');
    const ca = await readFile(issuer.ca, 'utf8');
    const server = await servers.start(
      [
        `tls-cert-file ${cert}`,
        `tls-key-file ${key}`,
        `tls-ca-cert-file ${issuer.ca}`,
        'tls-auth-clients no',
      ],
      { tls: { ca } },
    );
    const url = `rediss://127.0.0.1:${server.port}`;
    const trusting = await connect(url, { caFile: issuer.ca });
    await until(() => trusting.client.status === 'ready', 'the client has connected');
    expect(await consumed(trusting.limiter, 'tls')).to.equal(1);
    expect(trusting.fallbacks()).to.equal(0);

    const distrusting = await openRedis({ address: parseRedisAddress(url), isCluster: false }, () => {});
    clients.push(distrusting);
    const [error] = await once(distrusting, 'error');
    expect(String(error)).to.match(/certificate/);
  });
});
