// A gateway over its capacity: it sheds requests at once, and reports it to load balancers.
import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import { until } from '../../support/until.ts';
import { type FakeCore, objectIn, refusal, startGateway, type TestGateway } from '../fake-core.ts';

const ACTIVATE = { licenseKey: 'k', machineFingerprint: 'f' };
const FORM = 'application/x-www-form-urlencoded';

describe('an overloaded gateway', () => {
  let gateway: TestGateway;
  const start = async (core: FakeCore): Promise<void> => {
    gateway = await startGateway({ maxInFlight: 3 }, core);
  };
  afterEach(() => gateway.close(0));

  const shed = async (response: Response): Promise<void> => {
    expect(response.status).to.equal(503);
    expect(Number(response.headers.get('retry-after'))).to.be.within(1, 5);
    expect((await objectIn(response)).code).to.equal('overloaded');
  };
  const isReady = async (): Promise<boolean> => (await gateway.get('/readyz')).status === 200;

  it('sheds requests beyond its limit, stays up, accepts callbacks, and is ready again later', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let asked = 0;
    await start({
      activate: async () => {
        asked += 1;
        await held;
        return { license: {}, publicKeyPem: 'PEM' };
      },
    });
    const carried = Array.from({ length: 3 }, () => gateway.post('/v1/activate', ACTIVATE));
    await until(() => asked === 3, 'all places are taken');
    expect(await isReady()).to.equal(true);
    await shed(await gateway.post('/v1/activate', ACTIVATE));
    await shed(await gateway.get('/v1/status/x'));
    expect(asked).to.equal(3);
    expect(await isReady()).to.equal(false);
    expect((await gateway.get('/healthz')).status).to.equal(200);
    expect((await gateway.get('/v1/webhooks/gateway_two')).status).to.equal(200);
    release();
    expect((await Promise.all(carried)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect((await gateway.get('/v1/status/x')).status).to.equal(200);
    await until(isReady, 'the gateway is ready again');
  });

  it('reserves no place for a client that sends slowly', async () => {
    await start({ getReturnAddress: () => ({ gateway: 'gateway_two' }) });
    const bodies = { '/v1/activate': 'application/json', '/buy/app/offer': FORM, '/v1/return/chs_1': FORM };
    for (const [path, type] of Object.entries(bodies)) {
      const slow = Array.from({ length: 5 }, () => {
        const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{')) });
        const leave = new AbortController();
        const headers = { 'content-type': type };
        const init = { method: 'POST', headers, body, duplex: 'half', signal: leave.signal } as const;
        return { leave, answer: gateway.get(path, init).catch(() => undefined) };
      });
      await until(async () => (await gateway.connections()) >= 5, 'all are connected');
      expect((await gateway.get('/v1/status/x')).status, path).to.equal(200);
      for (const { leave } of slow) leave.abort();
      await Promise.all(slow.map(({ answer }) => answer));
    }
  });

  it('reports an overloaded core, also for a callback', async () => {
    const overloaded = () => {
      throw refusal(Code.Unavailable, { code: 'overloaded' });
    };
    await start({ checkStatus: overloaded, receiveCallback: overloaded });
    await shed(await gateway.get('/v1/webhooks/gateway_two'));
    await shed(await gateway.get('/v1/status/x'));
    expect(await isReady()).to.equal(false);
  });
});
