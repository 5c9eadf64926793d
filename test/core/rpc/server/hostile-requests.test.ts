// Hostile requests to the RPC port: it is internal, but must survive them.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { expect } from 'chai';
import { openRaw, type RawConnection, sendRaw } from '../../../gateway/server/raw-socket.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { smugglingRequests } from '../../../support/network/hostile-requests.ts';
import { until } from '../../../support/until.ts';

const METHOD = '/hub.license.v1.LicenseService/CheckStatus';

describe('the RPC port with hostile requests', () => {
  let hub: TestHub;
  let port: number;
  before(async () => {
    hub = await startHub();
    port = Number(new URL(hub.rpcUrl).port);
  });
  afterEach(() => hub.admin.listApps({}));
  after(() => hub.stop());

  const authorized = (text: string): string =>
    text.replace('\r\n', `\r\nAuthorization: Bearer ${hub.token}\r\n`);
  const statusesOf = async (text: string): Promise<number[]> =>
    (await sendRaw(port, text)).map(({ status }) => status);

  for (const { about, text } of smugglingRequests(METHOD)) {
    it(`refuses it whole: ${about}`, async () => {
      const signed = text.startsWith('GET /') && !text.includes('HTTP/') ? text : authorized(text);
      expect(await statusesOf(signed)).to.deep.equal([400]);
    });
  }

  it('refuses a request without a host in any HTTP version', async () => {
    for (const head of ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.1\r\nHost: ', 'HTTP/1.1\r\nHost: a\r\nHost: b']) {
      expect(await statusesOf(authorized(`POST ${METHOD} ${head}\r\n\r\n`)), head).to.deep.equal([400]);
    }
    const session = connectHttp2(hub.rpcUrl);
    const stream = session.request({ ':method': 'POST', ':path': METHOD, ':authority': 'a:b' });
    const [headers] = await once(stream, 'response');
    session.destroy();
    expect(headers[':status']).to.equal(400);
  });

  it('refuses a host that is not valid in a URL', async () => {
    for (const [path, host] of [
      [METHOD, '['],
      [METHOD, 'a b'],
      [METHOD, 'hub:99999'],
    ]) {
      const text = authorized(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await statusesOf(text), `${path} ${host}`).to.deep.equal([400]);
    }
  });

  it('refuses headers over 16 KiB', async () => {
    const text = `POST ${METHOD} HTTP/1.1\r\nHost: hub\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`;
    expect(await statusesOf(text)).to.deep.equal([431]);
  });

  it('returns 404 for disguised paths, and echoes no header', async () => {
    for (const path of [`/${METHOD}`, METHOD.replaceAll('/', '%2f'), `/x/..${METHOD}`, '/__proto__']) {
      const head = `POST ${path} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nX-Request-Id: a%0d%0ab:c\r\n`;
      const [answer] = await sendRaw(port, authorized(`${head}Content-Length: 0\r\n\r\n`));
      expect(answer?.status, path).to.be.oneOf([400, 404]);
      expect(answer?.headers['x-request-id'] ?? '', path).not.to.contain('a%0d');
    }
  });

  it('serves others while a hundred connections trickle, and closes those', async () => {
    const connections: RawConnection[] = await Promise.all(Array.from({ length: 100 }, () => openRaw(port)));
    const timers = connections.map(({ socket }, index) => {
      // A half is silent, and the other sends a header now and then.
      if (index % 2 === 0) socket.write(`POST ${METHOD} HTTP/1.1\r\nHost: hub\r\n`);
      return setInterval(() => index % 2 === 0 && socket.writable && socket.write('X: y\r\n'), 500);
    });
    await hub.admin.listApps({});
    await until(() => connections.every(({ socket }) => socket.destroyed), 'all are cut off', 20_000);
    for (const timer of timers) clearInterval(timer);
  });
});
