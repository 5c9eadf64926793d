// The limit of wrong guesses at keys and fingerprints, and whom it refuses.
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { normalizeLicenseKey } from '../../../core/license/keys/license-key.ts';
import { keySubject } from '../../../gateway/limits/guess-limit.ts';
import type { GatewayOptions } from '../../../gateway/server/server.ts';
import { randomLicenseKey } from '../../support/license-key.ts';
import { requireRedis, startRedis } from '../../support/redis/redis.ts';
import { until } from '../../support/until.ts';
import { type FakeCore, objectIn, refusal, startGateway, type TestGateway } from '../fake-core.ts';

const KEY = '7Q2M4-AAAAA-AAAAA-AAAAA-AAAAA';
const LICENSE = 'lic_01kxyz0000e0r9m5r1c2q3s4t5';
const SEATED = 'right';
const ATTACKER = '203.0.113.66';
const CUSTOMER = '198.51.100.1';
const WRONG_GUESSES = 4;
const STRANGERS = 5 * WRONG_GUESSES;

/** A core with one license, of one key, with one machine. */
function oneLicense(): { core: FakeCore; asked: () => number } {
  let asked = 0;
  const known = (code: string, connectCode: Code, isRight: boolean): void => {
    asked += 1;
    if (!isRight) throw refusal(connectCode, { code });
  };
  return {
    asked: () => asked,
    core: {
      activate({ licenseKey, machineFingerprint }) {
        known('license_key_unknown', Code.NotFound, licenseKey.toUpperCase() === KEY);
        if (machineFingerprint !== SEATED)
          throw refusal(Code.ResourceExhausted, { code: 'seat_limit_reached' });
        return { license: {}, publicKeyPem: 'PEM' };
      },
      deactivate({ licenseKey, machineFingerprint }) {
        known('license_key_unknown', Code.NotFound, licenseKey.toUpperCase() === KEY);
        known('seat_unknown', Code.NotFound, machineFingerprint === SEATED);
        return { released: true };
      },
      checkStatus({ licenseId, machineFingerprint }) {
        const isRight = machineFingerprint === undefined || machineFingerprint === SEATED;
        known('seat_not_active', Code.PermissionDenied, isRight);
        return { licenseId, seats: { limit: 1, used: 1 }, checkedAt: { seconds: 1n } };
      },
    },
  };
}

describe('the limit of wrong guesses', () => {
  const gateways: TestGateway[] = [];
  const clients: Redis[] = [];
  const start = async (options: Partial<GatewayOptions> = {}, core = oneLicense().core) => {
    const trustedProxies = ['127.0.0.1'];
    const gateway = await startGateway({ wrongGuesses: WRONG_GUESSES, trustedProxies, ...options }, core);
    gateways.push(gateway);
    return gateway;
  };
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.close(0)));
    for (const client of clients.splice(0)) client.disconnect();
  });

  const statusOf = async (gateway: TestGateway, ip: string, fp?: string): Promise<number> => {
    const query = fp === undefined ? '' : `?fp=${fp}`;
    const response = await gateway.get(`/v1/status/${LICENSE}${query}`, {
      headers: { 'x-forwarded-for': ip },
    });
    await response.text();
    return response.status;
  };
  const post = async (gateway: TestGateway, path: string, ip: string, licenseKey: string, fp: string) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': ip };
    const response = await gateway.post(path, { licenseKey, machineFingerprint: fp }, { headers });
    await response.text();
    return response.status;
  };
  const times = async (count: number, guess: (index: number) => Promise<number>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let index = 0; index < count; index++) statuses.push(await guess(index));
    return statuses;
  };
  const strangers = (index: number): string => `192.0.2.${index % 250}`;

  it('refuses a client after too many wrong fingerprints, including right ones, without calling the core', async () => {
    const { core, asked } = oneLicense();
    const gateway = await start({}, core);
    const told = await times(WRONG_GUESSES + 2, (index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    expect(told).to.deep.equal([...Array(WRONG_GUESSES).fill(403), 429, 429]);
    const before = asked();
    expect(await statusOf(gateway, ATTACKER, SEATED)).to.equal(429);
    expect(asked()).to.equal(before);
    expect(await statusOf(gateway, CUSTOMER, SEATED)).to.equal(200);
    expect(await statusOf(gateway, ATTACKER), 'without a fingerprint').to.equal(200);
  });

  it('returns when to retry', async () => {
    const gateway = await start();
    await times(WRONG_GUESSES, (index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    const headers = { 'x-forwarded-for': ATTACKER };
    const response = await gateway.get(`/v1/status/${LICENSE}?fp=x`, { headers });
    expect(response.status).to.equal(429);
    expect(Number(response.headers.get('retry-after'))).to.be.within(1, 600);
    expect((await objectIn(response)).code).to.equal('rate_limited');
  });

  it('ends with its window even if the clock of the machine is set back', async () => {
    const gateway = await start();
    await times(WRONG_GUESSES - 1, (index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    const { now } = Date;
    try {
      Date.now = () => now() - 3_600_000;
      expect(await statusOf(gateway, ATTACKER, 'wrong')).to.equal(403);
      const headers = { 'x-forwarded-for': ATTACKER };
      const response = await gateway.get(`/v1/status/${LICENSE}?fp=x`, { headers });
      expect(response.status).to.equal(429);
      expect(Number(response.headers.get('retry-after'))).to.be.within(1, 600);
    } finally {
      Date.now = now;
    }
  });

  it('is shared by unknown clients, and does not lock out known ones', async () => {
    const gateway = await start();
    expect(await statusOf(gateway, CUSTOMER, SEATED)).to.equal(200);
    const told = await times(STRANGERS + 5, (index) => statusOf(gateway, strangers(index), `wrong${index}`));
    expect(told).to.deep.equal([...Array(STRANGERS).fill(403), ...Array(5).fill(429)]);
    expect(await statusOf(gateway, '192.0.2.251', SEATED), 'a stranger').to.equal(429);
    expect(await statusOf(gateway, CUSTOMER, SEATED)).to.equal(200);
    const other = await gateway.get('/v1/status/lic_2?fp=right', {
      headers: { 'x-forwarded-for': ATTACKER },
    });
    expect(other.status, 'another license').to.equal(200);
  });

  it('applies to known clients too, with their own allowance', async () => {
    const gateway = await start();
    expect(await statusOf(gateway, CUSTOMER, SEATED)).to.equal(200);
    const told = await times(STRANGERS + 1, (index) => statusOf(gateway, CUSTOMER, `wrong${index}`));
    expect(told).to.deep.equal([...Array(STRANGERS).fill(403), 429]);
    expect(await statusOf(gateway, '192.0.2.1', SEATED)).to.equal(200);
  });

  it('does not make a client known by the id of a license', async () => {
    const gateway = await start();
    expect(await statusOf(gateway, ATTACKER)).to.equal(200);
    const told = await times(WRONG_GUESSES + 1, (index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    expect(told.at(-1)).to.equal(429);
  });

  it('reveals no more for concurrent guesses than for sequential ones', async () => {
    const gateway = await start();
    const guesses = Array.from({ length: 50 }, (_, index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    const told = await Promise.all(guesses);
    expect(told.filter((status) => status === 403)).to.have.length(WRONG_GUESSES);
    expect(told.filter((status) => status === 429)).to.have.length(50 - WRONG_GUESSES);
  });

  it('counts unknown keys of a client together, and then refuses any key', async () => {
    const gateway = await start();
    const told = await times(WRONG_GUESSES + 1, (index) =>
      post(gateway, index % 2 ? '/v1/activate' : '/v1/deactivate', ATTACKER, randomLicenseKey(), SEATED),
    );
    expect(told).to.deep.equal([...Array(WRONG_GUESSES).fill(404), 429]);
    expect(await post(gateway, '/v1/activate', ATTACKER, KEY, SEATED)).to.equal(429);
    expect(await post(gateway, '/v1/activate', CUSTOMER, KEY, SEATED)).to.equal(200);
  });

  it('counts failures with one key in any spelling over all unknown clients', async () => {
    const gateway = await start();
    expect(await post(gateway, '/v1/activate', CUSTOMER, KEY, SEATED)).to.equal(200);
    const told = await times(STRANGERS + 2, (index) => {
      const typed = index % 2 ? KEY : KEY.toLowerCase();
      return post(
        gateway,
        index % 3 ? '/v1/activate' : '/v1/deactivate',
        strangers(index),
        typed,
        `wrong${index}`,
      );
    });
    expect(told.slice(0, STRANGERS).every((status) => status === 404 || status === 409)).to.equal(true);
    expect(told.slice(STRANGERS)).to.deep.equal([429, 429]);
    expect(await post(gateway, '/v1/deactivate', CUSTOMER, KEY, SEATED)).to.equal(200);
  });

  it('normalizes keys like the hub', () => {
    const spelling = fc.array(fc.constantFrom('', ' ', '-', '\u2013', '\t'), {
      minLength: 25,
      maxLength: 25,
    });
    const likes: Record<string, string[]> = { 0: ['O', 'o', '0'], 1: ['I', 'l', 'L', 'i', '1'] };
    fc.assert(
      fc.property(spelling, fc.infiniteStream(fc.nat()), (separators, choices) => {
        const key = randomLicenseKey();
        const symbols = normalizeLicenseKey(key) ?? '';
        const typed = [...symbols].map((symbol, index) => {
          const forms = likes[symbol] ?? [symbol, symbol.toLowerCase()];
          const [choice = 0] = choices.take(1);
          return `${forms[choice % forms.length]}${separators[index]}`;
        });
        expect(normalizeLicenseKey(typed.join(''))).to.equal(symbols);
        expect(keySubject(typed.join(''))).to.equal(keySubject(key));
      }),
    );
  });

  it('is off at 0', async () => {
    const gateway = await start({ wrongGuesses: 0 });
    const told = await times(30, (index) => statusOf(gateway, ATTACKER, `wrong${index}`));
    expect(told).to.deep.equal(Array(30).fill(403));
  });

  describe('in Redis', () => {
    let url: string;
    before(function () {
      url = requireRedis(this);
    });
    const connect = async (address: string, keyPrefix: string): Promise<Redis> => {
      const options = { keyPrefix, enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: 250 };
      const redis = new Redis(address, options);
      redis.on('error', () => {}); // being away is what some of these tests are about
      clients.push(redis);
      await new Promise((resolve) => {
        redis.once('ready', resolve);
      });
      return redis;
    };

    it('is shared by all gateways with the known clients, and stores neither keys nor ids in plain text', async () => {
      const prefix = `test:${randomUUID()}:`;
      const redis = await connect(url, prefix);
      const [one, other] = [await start({ redis }), await start({ redis })];
      expect(await statusOf(one, CUSTOMER, SEATED)).to.equal(200);
      await times(STRANGERS, (index) => statusOf(index % 2 ? one : other, strangers(index), `wrong${index}`));
      // Each gateway learns by its next wrong guess that nothing is left.
      expect(await statusOf(one, '192.0.2.251', 'wrong')).to.equal(429);
      expect(await statusOf(other, '192.0.2.252', 'wrong')).to.equal(429);
      expect(await statusOf(other, '192.0.2.253', SEATED)).to.equal(429);
      expect(await statusOf(other, CUSTOMER, SEATED)).to.equal(200);
      await post(one, '/v1/activate', ATTACKER, KEY, 'wrong');
      const keys = await redis.keys(`${prefix}*`);
      expect(keys.length).to.be.greaterThan(STRANGERS);
      expect(keys.join()).not.to.match(/lic_|7Q2M4|wrong|right/);
    });

    it('learns of a client that became known while Redis was down', async function () {
      const own = await startRedis();
      if (own === undefined) return this.skip();
      let { process: server } = own;
      try {
        const [redis, otherRedis] = [await connect(own.url, ''), await connect(own.url, '')];
        const [one, other] = [await start({ redis }), await start({ redis: otherRedis })];
        const areAll = (isReady: boolean): boolean =>
          [redis, otherRedis].every(({ status }) => (status === 'ready') === isReady);
        server.kill('SIGKILL');
        await until(() => areAll(false), 'the gateways have lost Redis');
        expect(await statusOf(one, CUSTOMER, SEATED)).to.equal(200);
        server = (await startRedis(own.port))?.process ?? server;
        await until(() => areAll(true), 'the gateways have found Redis');
        const isStored = async (): Promise<boolean> => {
          expect(await statusOf(one, CUSTOMER, SEATED)).to.equal(200);
          return (await redis.keys('hub:known:*')).length > 0;
        };
        await until(isStored, 'the client is stored');
        await times(STRANGERS, (index) => statusOf(other, strangers(index), `wrong${index}`));
        expect(await statusOf(other, '192.0.2.251', SEATED)).to.equal(429);
        expect(await statusOf(other, CUSTOMER, SEATED)).to.equal(200);
      } finally {
        server.kill('SIGKILL');
      }
    });

    it('frozen delays one request a second by its timeout, and the others not at all', async function () {
      const own = await startRedis();
      if (own === undefined) return this.skip();
      try {
        const gateway = await start({ ratePerMinute: 1_000, redis: await connect(own.url, '') });
        expect(await statusOf(gateway, CUSTOMER)).to.equal(200);
        own.process.kill('SIGSTOP');
        const startedAt = performance.now();
        let slow = 0;
        for (let index = 0; index < 400; index++) {
          const askedAt = performance.now();
          expect(await statusOf(gateway, CUSTOMER)).to.equal(200);
          if (performance.now() - askedAt > 240) slow += 1;
        }
        const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
        expect(slow).to.be.at.most(seconds);
      } finally {
        own.process.kill('SIGCONT');
        own.process.kill('SIGTERM');
      }
    });
  });
});
