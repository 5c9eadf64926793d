// Unusual connections: broken requests, pipelined requests, and their end.
import { expect } from 'chai';
import { until } from '../../support/until.ts';
import { type FakeCore, startGateway, type TestGateway } from '../fake-core.ts';
import { openRaw, sendRaw } from './raw-socket.ts';

const HOST = 'Host: hub\r\n';
const LAST = 'GET /healthz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n';

describe('a connection', () => {
  let gateway: TestGateway;
  const start = async (core: FakeCore = {}): Promise<void> => {
    gateway = await startGateway({ bodyTimeoutMs: 300, answerTimeoutMs: 300 }, core);
  };
  /** A core whose activations wait for `release`. */
  const startHeld = async (): Promise<{ asked: () => number; release: () => void }> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    await start({
      activate: async () => {
        asked += 1;
        await promise;
        return { license: { held: true }, publicKeyPem: 'PEM' };
      },
    });
    return { asked: () => asked, release: resolve };
  };
  const ACTIVATE = { licenseKey: 'k', machineFingerprint: 'f' };

  afterEach(() => gateway.close(0));

  it('returns a problem document for input that is not HTTP, and closes', async () => {
    await start();
    for (const text of [
      'hello\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET / HTTP/1.1\r\n${HOST}Bad Name: x\r\n\r\n`,
      `POST /v1/activate HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `POST /v1/activate HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
      `POST /v1/activate HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
      `POST /v1/activate HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      'GET / HTTP/1.1\r\nConnection: close\r\n\r\n',
    ]) {
      const answers = await sendRaw(gateway.port, text);
      expect(answers, text).to.have.length(1);
      const [answer] = answers;
      expect(answer?.status, text).to.equal(400);
      expect(answer?.headers['content-type'], text).to.equal('application/problem+json');
      expect(answer?.headers['connection'], text).to.equal('close');
      const problem = JSON.parse(answer?.body ?? '');
      expect(problem, text).to.include({ status: 400, ok: false, code: 'invalid_request' });
      expect(problem.instance, text).to.equal(`urn:uuid:${answer?.headers['x-request-id']}`);
    }
    expect(gateway.logs.filter(({ level }) => level > 30)).to.deep.equal([]);
  });

  it('returns 431 for headers that are too large', async () => {
    await start();
    const [answer] = await sendRaw(gateway.port, `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n\r\n`);
    expect(answer?.status).to.equal(431);
    expect(JSON.parse(answer?.body ?? '').code).to.equal('headers_too_large');
  });

  it('refuses a malformed HEAD without a body', async () => {
    await start();
    const connection = await openRaw(gateway.port);
    connection.socket.write(Buffer.from(`HEAD /\xff HTTP/1.1\r\n${HOST}\r\n`, 'latin1'));
    await connection.closed();
    expect(connection.received()).to.match(/^HTTP\/1\.1 400 .*\r\nContent-Length: [1-9]\d*\r\n.*\r\n\r\n$/s);
  });

  it('returns 408 for headers that do not arrive in time', async () => {
    await start();
    const [answer] = await sendRaw(gateway.port, 'GET / HTTP/1.1\r\nHo');
    expect(answer?.status).to.equal(408);
    expect(JSON.parse(answer?.body ?? '').code).to.equal('request_timeout');
  });

  it('refuses requests that two servers could read differently', async () => {
    await start();
    for (const headers of ['Host: a\r\nHost: b', 'Host: a\r\nTransfer-Encoding: gzip, chunked']) {
      const text = `POST /v1/activate HTTP/1.1\r\n${headers}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n0\r\n\r\n`;
      const [answer] = await sendRaw(gateway.port, text);
      expect(answer?.status, headers).to.equal(400);
    }
  });

  it('logs requests refused by the parser under the id of the response', async () => {
    await start();
    const [answer] = await sendRaw(gateway.port, 'GARBAGE\r\n\r\n');
    const id = answer?.headers['x-request-id'];
    expect(id).to.not.equal(undefined);
    expect(gateway.logs.filter(({ requestId }) => requestId === id)).to.have.length(1);
  });

  it('is closed if the client does not read the responses', async () => {
    await start();
    const connection = await openRaw(gateway.port);
    connection.socket.pause();
    const requests = Buffer.from(`GET /nowhere HTTP/1.1\r\n${HOST}\r\n`.repeat(1_000));
    await until(async () => {
      if (connection.socket.writableLength === 0) connection.socket.write(requests);
      return (await gateway.connections()) === 0;
    }, 'the connection is cut');
  });

  it('refuses to be a tunnel', async () => {
    await start();
    const [answer] = await sendRaw(
      gateway.port,
      'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n',
    );
    expect(answer?.status).to.equal(404);
  });

  it('accepts HTTP/1.0 without Host', async () => {
    await start();
    const [answer] = await sendRaw(gateway.port, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect([answer?.status, answer?.body]).to.deep.equal([200, '{"ok":true}']);
  });

  it('answers pipelined requests in order', async () => {
    await start();
    const one = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;
    const answers = await sendRaw(
      gateway.port,
      one('/v1/status/a') + one('/nowhere') + one('/v1/status/b') + LAST,
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 200, 200]);
    expect(JSON.parse(answers[0]?.body ?? '').licenseId).to.equal('a');
    expect(JSON.parse(answers[2]?.body ?? '').licenseId).to.equal('b');
  });

  it('finishes a valid request before it refuses the garbage after it', async () => {
    const held = await startHeld();
    const body = JSON.stringify(ACTIVATE);
    const connection = await openRaw(gateway.port);
    connection.socket.write(
      `POST /v1/activate HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n` +
        `${body}garbage\r\n\r\n`,
    );
    await until(() => held.asked() === 1, 'the core receives the call');
    held.release();
    const answers = await connection.closed();
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 400]);
  });

  it('is closed after the response when the gateway stops, which the response announces', async () => {
    const held = await startHeld();
    const idle = await openRaw(gateway.port);
    const answered = gateway.post('/v1/activate', ACTIVATE);
    await until(() => held.asked() === 1, 'the core receives the call');
    const closed = gateway.close(60_000);
    const refused = () =>
      gateway.get('/healthz').then(
        () => false,
        () => true,
      );
    await until(refused, 'new connections are refused');
    held.release();
    const response = await answered;
    expect(response.status).to.equal(200);
    expect(response.headers.get('connection')).to.equal('close');
    await closed;
    expect(await idle.closed()).to.deep.equal([]);
  });

  it('is closed if the response takes longer than the grace period', async () => {
    const held = await startHeld();
    const answered = gateway.post('/v1/activate', ACTIVATE).then(
      () => 'answered',
      () => 'cut',
    );
    await until(() => held.asked() === 1, 'the core receives the call');
    await gateway.close(50);
    expect(await answered).to.equal('cut');
    held.release();
    await until(() => gateway.logs.length > 0, 'the request is logged');
    expect(gateway.logs.map(({ level, status }) => [level, status])).to.deep.equal([[30, 499]]);
  });

  it('can be closed twice, and before the first request', async () => {
    await start();
    await gateway.close(1_000);
    await gateway.close(1_000);
  });
});
