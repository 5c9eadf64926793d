// The rate limit, counted in memory, in Redis, and during an outage of Redis.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createLimitStore } from '../../../gateway/limits/limit-store.ts';
import { MAX_POINTS } from '../../../gateway/limits/max-points.ts';
import { createLocalWindows, createRateLimit } from '../../../gateway/limits/request-limits.ts';
import type { GatewayOptions } from '../../../gateway/server/server.ts';
import { clientKey } from '../../../lib/net/proxies.ts';
import { corruptions } from '../../support/corruptions.ts';
import { requireRedis, startRedis } from '../../support/redis/redis.ts';
import { until } from '../../support/until.ts';
import { objectIn, startGateway, type TestGateway } from '../fake-core.ts';

function openRedis(url: string): Redis {
  const redis = new Redis(url, {
    keyPrefix: `test:${randomUUID()}:`,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 500,
    commandTimeout: 250,
    retryStrategy: (times) => Math.min(times * 50, 500),
  });
  redis.on('error', () => {}); // being down is what some of these tests are about
  return redis;
}

describe('the rate limit', () => {
  const gateways: TestGateway[] = [];
  const clients: Redis[] = [];
  const start = async (options: Partial<GatewayOptions>): Promise<TestGateway> => {
    const trustedProxies = ['127.0.0.1'];
    const gateway = await startGateway({ ratePerMinute: 3, trustedProxies, ...options });
    gateways.push(gateway);
    return gateway;
  };
  const connect = (url: string): Redis => {
    const redis = openRedis(url);
    clients.push(redis);
    return redis;
  };
  const statusesOf = async (gateway: TestGateway, times: number, ip = '203.0.113.7'): Promise<number[]> => {
    const statuses: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const response = await gateway.get('/v1/status/x', { headers: { 'x-forwarded-for': ip } });
      await response.text();
      statuses.push(response.status);
    }
    return statuses;
  };

  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close(0)));
    for (const client of clients.splice(0)) client.disconnect();
  });

  it('returns the remaining requests on each response, and Retry-After when none remain', async () => {
    const gateway = await start({});
    for (const left of [2, 1, 0]) {
      const response = await gateway.post(
        '/v1/activate',
        left === 1 ? {} : { licenseKey: 'k', machineFingerprint: 'f' },
      );
      expect(response.status).to.equal(left === 1 ? 400 : 200);
      expect(response.headers.get('ratelimit-policy')).to.equal('"license";q=3;w=60');
      expect(response.headers.get('ratelimit')).to.match(
        new RegExp(`^"license";r=${left};t=([1-9]|[1-5]\\d|60)$`),
      );
    }
    const refused = await gateway.post('/v1/activate', {});
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    expect(refused.headers.get('ratelimit')).to.match(/^"license";r=0;t=\d+$/);
    expect((await objectIn(refused)).code).to.equal('rate_limited');
  });

  it('covers all license endpoints together, and no others', async () => {
    const gateway = await start({});
    const paths = ['/v1/apps/a/public-key', '/v1/apps/a/jwks.json', '/v1/apps/a/limits/free', '/v1/status/x'];
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await gateway.get(path)).status);
    expect(statuses).to.deep.equal([200, 200, 200, 429]);
    for (const path of ['/healthz', '/readyz', '/nowhere']) {
      const response = await gateway.get(path);
      expect(response.status, path).not.to.equal(429);
      expect(response.headers.get('ratelimit'), path).to.equal(null);
    }
  });

  it('refuses before it reads the body', async () => {
    const gateway = await start({ ratePerMinute: 1 });
    await gateway.get('/v1/status/x');
    const response = await gateway.post('/v1/activate', undefined, { body: 'x'.repeat(1_000_000) });
    expect(response.status).to.equal(429);
  });

  it('counts each client separately, and an IPv6 network as one client', async () => {
    const gateway = await start({ ratePerMinute: 1 });
    expect(await statusesOf(gateway, 2, '203.0.113.7')).to.deep.equal([200, 429]);
    expect(await statusesOf(gateway, 1, '203.0.113.8')).to.deep.equal([200]);
    expect(await statusesOf(gateway, 1, '2001:db8:0:1::1')).to.deep.equal([200]);
    expect(await statusesOf(gateway, 1, '2001:db8:0:1:ffff::2')).to.deep.equal([429]);
    expect(await statusesOf(gateway, 1, '2001:db8:0:2::1')).to.deep.equal([200]);
  });

  it('recognizes an IPv6 network in any spelling', () => {
    expect(clientKey('2001:db8::1')).to.equal('2001:db8:0:0');
    expect(clientKey('2001:db8:1:2:3:4:5:6')).to.equal('2001:db8:1:2');
    expect(clientKey('::1')).to.equal('0:0:0:0');
    expect(clientKey('2001:db8:1:2:3::')).to.equal('2001:db8:1:2');
    expect(clientKey('::')).to.equal('0:0:0:0');
    expect(clientKey('203.0.113.7')).to.equal('203.0.113.7');
    expect(clientKey('unknown')).to.equal('unknown');
    expect(clientKey('::ffff:203.0.113.7'), 'IPv4, on a port that takes both').to.equal('203.0.113.7');
  });

  it('is off at 0', async () => {
    const gateway = await start({ ratePerMinute: 0 });
    const response = await gateway.get('/v1/status/x');
    expect(response.headers.get('ratelimit')).to.equal(null);
  });

  it('works while Redis is down', async () => {
    const gateway = await start({ redis: connect('redis://127.0.0.1:1') });
    expect(await statusesOf(gateway, 5)).to.deep.equal([200, 200, 200, 429, 429]);
    expect(gateway.logs.filter(({ level }) => level > 30)).to.deep.equal([]);
  });

  it('lets a shop ask for ten times as many orders, apart from license requests', async () => {
    const gateway = await start({});
    expect(await statusesOf(gateway, 4)).to.deep.equal([200, 200, 200, 429]);
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    for (let left = 29; left >= 0; left -= 1) {
      const response = await gateway.get('/v1/orders/x', { headers });
      await response.text();
      expect(response.status).to.not.equal(429);
      expect(response.headers.get('ratelimit-policy')).to.equal('"order";q=30;w=60');
      expect(response.headers.get('ratelimit')).to.contain(`"order";r=${left};`);
    }
    expect((await gateway.get('/v1/orders/x', { headers })).status).to.equal(429);
  });

  it('admits every client when counting fails, and logs it once', async () => {
    const lines: string[] = [];
    const rateLimit = createRateLimit({
      name: 'license',
      ratePerMinute: 3,
      limiter: {
        consume: () => Promise.reject(new Error('out of order')),
        get: () => Promise.reject(new Error('out of order')),
      },
      logger: pino({}, { write: (line: string) => lines.push(line) }),
      refusals: { inc() {} },
    });
    for (let time = 0; time < 5; time += 1) {
      expect(await rateLimit('203.0.113.7')).to.deep.equal({ headers: [] });
    }
    expect(lines).to.have.length(1);
    expect(lines[0]).to.contain('out of order');
  });

  describe('in Redis', () => {
    let url: string;
    before(async function () {
      url = await requireRedis(this);
    });

    const ready = async (): Promise<Redis> => {
      const redis = connect(url);
      await new Promise((resolve) => {
        redis.once('ready', resolve);
      });
      return redis;
    };

    it('is shared by all gateways', async () => {
      const redis = await ready();
      const [one, other] = [await start({ redis }), await start({ redis })];
      expect(await statusesOf(one, 2)).to.deep.equal([200, 200]);
      expect(await statusesOf(other, 2)).to.deep.equal([200, 429]);
      expect(await statusesOf(one, 2)).to.deep.equal([429, 429]);
    });

    it('is exact for concurrent requests, which do not wait for each other', async () => {
      const gateway = await start({ ratePerMinute: 40, redis: await ready() });
      expect(await statusesOf(gateway, 1)).to.deep.equal([200]);
      const burst = await Promise.all(Array.from({ length: 100 }, () => statusesOf(gateway, 1)));
      expect(burst.filter(([status]) => status === 200)).to.have.length(39);
    });

    it('counts requests that were admitted ahead of Redis before it grants more', async () => {
      const limits = { name: 'ahead', points: 40, seconds: 60 };
      const consume = createLocalWindows(createLimitStore(await ready()).limiter(limits), limits.points);
      await consume('key');
      // Without a pause: Redis has no count yet.
      const granted = await Promise.allSettled(Array.from({ length: 100 }, async () => consume('key')));
      expect(granted.filter(({ status }) => status === 'fulfilled')).to.have.length(39);
    });

    it('is exact with the maximum number of points', async () => {
      const redis = await ready();
      const limits = { name: 'most', points: MAX_POINTS, seconds: 60 };
      const [one, other] = [createLimitStore(redis).limiter(limits), createLimitStore(redis).limiter(limits)];
      const client = randomUUID();
      expect((await one.consume(client, MAX_POINTS - 2)).remainingPoints).to.equal(2);
      expect((await other.consume(client)).remainingPoints).to.equal(1);
      expect((await one.consume(client)).remainingPoints).to.equal(0);
      const refused = await Promise.allSettled(Array.from({ length: 50 }, () => other.consume(client)));
      expect(refused.filter(({ status }) => status === 'fulfilled')).to.deep.equal([]);
    });

    it('ends with its window even if the clock of the machine is set back', async () => {
      const limiter = createLimitStore(await ready()).limiter({ name: 'clock', points: 1, seconds: 2 });
      const isRefused = (): Promise<boolean> =>
        limiter.consume('key').then(
          () => false,
          () => true,
        );
      await until(isRefused, 'the points are used up');
      const { now } = Date;
      try {
        Date.now = () => now() - 3_600_000;
        await until(async () => !(await isRefused()), 'the next window begins');
      } finally {
        Date.now = now;
      }
    });

    it('is asked once a second while Redis is frozen, also if a client without points sends requests', async function () {
      const own = await startRedis();
      if (own === undefined) return this.skip();
      try {
        const redis = connect(own.url);
        await once(redis, 'ready');
        const limiter = createLimitStore(redis).limiter({ name: 'frozen', points: 1, seconds: 600 });
        await limiter.consume('without points');
        own.process.kill('SIGSTOP');
        let calls = 0;
        const send = redis.sendCommand.bind(redis);
        redis.sendCommand = (...command) => {
          calls += 1;
          return send(...command);
        };
        const startedAt = performance.now();
        await limiter.consume('first');
        const sendAll = async (): Promise<boolean> => {
          const all = ['without points', ...Array.from({ length: 20 }, (_, index) => `client ${index}`)];
          await Promise.allSettled(all.map((client) => limiter.consume(client)));
          return performance.now() - startedAt > 2_500;
        };
        await until(sendAll, 'Redis could be asked twice again');
        const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
        expect(calls).to.be.at.most(seconds);
      } finally {
        own.process.kill('SIGCONT');
        own.process.kill('SIGTERM');
      }
    });

    it('stores its keys for at most a minute', async () => {
      const redis = await ready();
      await statusesOf(await start({ redis }), 1);
      expect(await redis.ttl('hub:rate:license:203.0.113.7')).to.be.within(50, 60);
    });

    it('starts over if a key has a foreign count, and is shared again', async () => {
      const redis = await ready();
      const key = 'hub:rate:license:203.0.113.7';
      for (const { about, write } of corruptions(key)) {
        await write(redis.multi().del(key)).exec();
        const [one, other] = [await start({ redis }), await start({ redis })];
        expect(await statusesOf(one, 2), about).to.deep.equal([200, 200]);
        expect(await statusesOf(other, 2), about).to.deep.equal([200, 429]);
        expect(await redis.pttl(key), about).to.be.within(1, 60_000);
      }
    });

    it('continues in memory when the connection is lost', async () => {
      const redis = await ready();
      const gateway = await start({ redis });
      expect(await statusesOf(gateway, 1)).to.deep.equal([200]);
      redis.disconnect();
      expect(await statusesOf(gateway, 4)).to.deep.equal([200, 200, 200, 429]);
    });
  });
});
