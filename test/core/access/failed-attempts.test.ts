// The effect of wrong tokens on an address, and on others who share it.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Code, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { newServiceToken } from '../../../core/access/token-format.ts';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { corruptions } from '../../support/corruptions.ts';
import { startHub, type TestHub, type TestHubOptions, transportTo } from '../../support/hub/hub.ts';
import { requireRedis, startRedis } from '../../support/redis/redis.ts';
import { failureOf } from '../rpc/failure-of.ts';
import { createGrpcClient } from '../rpc/server/grpc-client.ts';
import { run } from '../rpc/server/run-command.ts';

const LIMIT = 3;

describe('attempts with wrong tokens', () => {
  const hubs: TestHub[] = [];
  const start = async ({ settings, ...options }: TestHubOptions = {}): Promise<TestHub> => {
    const hub = await startHub({ ...options, settings: { ...settings, failedAttemptsPerMinute: LIMIT } });
    hubs.push(hub);
    return hub;
  };
  afterEach(async () => {
    for (const hub of hubs.splice(0).reverse()) await hub.stop();
  });

  /** Each test has its own loopback address, because counts in Redis outlive it. */
  let address: string;
  beforeEach(() => {
    address = randomAddress();
  });
  const whoIs = (hub: TestHub, token: string, from = address) =>
    createClient(AccessService, transportTo(hub.rpcUrl, token, from)).getCaller({});
  const attempt = async (hub: TestHub, from = address) =>
    Code[(await failureOf(whoIs(hub, newServiceToken(), from))).code];
  const useUp = async (hub: TestHub) => {
    for (let count = 0; count < LIMIT; count++) expect(await attempt(hub)).to.equal('Unauthenticated');
  };
  const newToken = async ({ transport }: TestHub) =>
    (await createClient(TokenService, transport).createToken({ role: Role.VIEWER })).token;

  it('are refused with Retry-After after too many, by every protocol', async () => {
    const hub = await start();
    await useUp(hub);
    const refused = await failureOf(whoIs(hub, newServiceToken()));
    expect(refused.code).to.equal(Code.ResourceExhausted);
    expect(Number(refused.metadata.get('retry-after'))).to.be.within(1, 60);
    const url = `${hub.rpcUrl}/hub.access.v1.AccessService/GetCaller`;
    const json = ['-H', 'content-type: application/json', '-d', '{}'];
    const curl = [
      '-sS',
      '-D',
      '-',
      '--interface',
      address,
      '-H',
      'authorization: Bearer wrong',
      ...json,
      url,
    ];
    const { stdout } = await run('curl', curl);
    expect(stdout).to.match(/^HTTP\/1.1 429 .*^retry-after: \d+\r$/ims);
    expect(await attempt(hub, randomAddress()), 'another address').to.equal('Unauthenticated');
  });

  it('are refused by gRPC too', async () => {
    const hub = await start();
    const grpc = createGrpcClient(hub.rpcUrl, newServiceToken());
    const codes: unknown[] = [];
    for (let count = 0; count <= LIMIT; count++) {
      const error = await grpc.unary(AccessService.method.getCaller, {}).catch((thrown: unknown) => thrown);
      codes.push(error instanceof Error && 'code' in error ? error.code : error);
    }
    grpc.close();
    expect(codes).to.deep.equal([...Array(LIMIT).fill(Code.Unauthenticated), Code.ResourceExhausted]);
  });

  it('do not lock out tokens that were accepted before', async () => {
    const hub = await start();
    const token = await newToken(hub);
    await whoIs(hub, token);
    await useUp(hub);
    expect(await attempt(hub)).to.equal('ResourceExhausted');
    expect((await whoIs(hub, token)).role).to.equal(Role.VIEWER);
  });

  it('delay unknown tokens, so that a right guess gains nothing', async () => {
    const hub = await start();
    const token = await newToken(hub);
    await useUp(hub);
    expect((await failureOf(whoIs(hub, token))).code).to.equal(Code.ResourceExhausted);
  });

  it('do not lock out tokens from another address, even unknown ones', async function () {
    const redisUrl = requireRedis(this);
    for (const settings of [{}, { redisUrl }]) {
      const hub = await start({ settings });
      const token = await newToken(hub);
      await useUp(hub);
      expect((await failureOf(whoIs(hub, token))).code).to.equal(Code.ResourceExhausted);
      expect((await whoIs(hub, token, randomAddress())).role).to.equal(Role.VIEWER);
      address = randomAddress();
    }
  });

  it('are not confused with calls without a token', async () => {
    const hub = await start();
    const health = `${hub.rpcUrl}/hub.access.v1.AccessService/GetCaller`;
    for (let count = 0; count < 2 * LIMIT; count++) {
      const headers = { 'content-type': 'application/json' };
      expect((await fetch(health, { method: 'POST', headers, body: '{}' })).status).to.equal(401);
    }
    expect(await attempt(hub)).to.equal('Unauthenticated');
  });

  it('do not admit a revoked token', async () => {
    const hub = await start();
    const tokens = createClient(TokenService, hub.transport);
    const { token, serviceToken } = await tokens.createToken({ role: Role.VIEWER });
    await whoIs(hub, token);
    await tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
    expect((await failureOf(whoIs(hub, token))).code).to.equal(Code.Unauthenticated);
  });

  it('count over all hubs that share a Redis', async function () {
    const redisUrl = requireRedis(this);
    const one = await start({ settings: { redisUrl } });
    const two = await start({ beside: one, settings: { redisUrl } });
    await useUp(one);
    expect(await attempt(two)).to.equal('ResourceExhausted');
  });

  it('are refused until the window ends, also if Redis is emptied or down meanwhile', async function () {
    const own = await startRedis();
    if (own === undefined) return this.skip();
    const redis = new Redis(own.url);
    redis.on('error', () => {}); // it goes down
    try {
      const hub = await start({ settings: { redisUrl: own.url } });
      await useUp(hub);
      await redis.flushall();
      expect(await attempt(hub), 'emptied').to.equal('ResourceExhausted');
      const exited = once(own.process, 'exit');
      own.process.kill('SIGKILL');
      await exited;
      expect(await attempt(hub), 'down').to.equal('ResourceExhausted');
    } finally {
      redis.disconnect();
      own.process.kill('SIGKILL');
    }
  });

  it('lock nobody out because of a foreign count', async function () {
    const redisUrl = requireRedis(this);
    const redis = new Redis(redisUrl);
    try {
      const hub = await start({ settings: { redisUrl } });
      for (const turn of corruptions('').keys()) {
        address = randomAddress();
        const { about = '', write } = corruptions(`hub:rate:failed-attempts:${address}`)[turn] ?? {};
        await write?.(redis.multi()).exec();
        expect((await whoIs(hub, await newToken(hub))).role, about).to.equal(Role.VIEWER);
        await useUp(hub);
        expect(await attempt(hub), about).to.equal('ResourceExhausted');
      }
    } finally {
      redis.disconnect();
    }
  });

  it('count in memory while Redis is down', async () => {
    const hub = await start({ settings: { redisUrl: 'redis://127.0.0.1:1' } });
    await useUp(hub);
    expect(await attempt(hub)).to.equal('ResourceExhausted');
  });
});

function randomAddress(): string {
  return `127.${[...randomBytes(3)].map((byte) => (byte % 250) + 2).join('.')}`;
}
