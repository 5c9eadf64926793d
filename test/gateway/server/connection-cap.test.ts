// The limit of connections per client on the public port.
import { expect } from 'chai';
import type { GatewayOptions } from '../../../gateway/server/server.ts';
import { until } from '../../support/until.ts';
import { startGateway, type TestGateway } from '../fake-core.ts';
import { openRaw, type RawConnection, sendRaw } from './raw-socket.ts';

const ASK = 'GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n';
const CAP = 5;

describe('connections of one client', () => {
  let gateway: TestGateway;
  const start = async (options: Partial<GatewayOptions> = {}): Promise<void> => {
    gateway = await startGateway({ connectionsPerClient: CAP, ...options });
  };
  const hold = (count: number): Promise<RawConnection[]> =>
    Promise.all(Array.from({ length: count }, () => openRaw(gateway.port)));
  const ask = async (): Promise<number | undefined> => (await sendRaw(gateway.port, ASK))[0]?.status;
  afterEach(() => gateway.close(0));

  it('beyond the limit get 429 until one is closed', async () => {
    await start();
    const held = await hold(CAP);
    const [answer] = await sendRaw(gateway.port, ASK);
    expect(answer?.status).to.equal(429);
    expect(answer?.headers['connection']).to.equal('close');
    expect(Number(answer?.headers['retry-after'])).to.be.within(1, 5);
    expect(JSON.parse(answer?.body ?? '')).to.include({ code: 'rate_limited', ok: false });
    held[0]?.socket.destroy();
    await until(async () => (await ask()) === 200, 'there is room again');
  });

  it('are closed soon if idle, at once if there are many, and logged once', async () => {
    await start();
    const held = await hold(CAP);
    const surplus = await hold(40);
    await until(() => surplus.every(({ socket }) => socket.destroyed), 'all beyond the cap are closed');
    expect(held.map(({ socket }) => socket.destroyed)).to.deep.equal(Array(CAP).fill(false));
    expect(await gateway.connections()).to.equal(CAP);
    const warnings = gateway.logs.filter(({ level }) => level === 40);
    expect(warnings.map(({ client, cap }) => [client, cap])).to.deep.equal([['127.0.0.1', CAP]]);
  });

  it('do not make the hub look overloaded', async () => {
    await start();
    const held = await hold(CAP);
    expect(await ask()).to.equal(429);
    held[0]?.socket.destroy();
    await until(async () => (await ask()) === 200, 'there is room again');
    const [ready] = await sendRaw(gateway.port, ASK.replace('healthz', 'readyz'));
    expect(ready?.status).to.equal(200);
  });

  it('are not limited for trusted proxies', async () => {
    await start({ trustedProxies: ['127.0.0.0/8'] });
    await hold(2 * CAP);
    expect(await ask()).to.equal(200);
  });

  it('are not limited at 0', async () => {
    await start({ connectionsPerClient: 0 });
    await hold(2 * CAP);
    expect(await ask()).to.equal(200);
  });
});
