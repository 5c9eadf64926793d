// What attackers send to the public port, byte by byte, and that nothing comes of it.
import { expect } from 'chai';
import { smugglingRequests } from '../../support/network/hostile-requests.ts';
import { until } from '../../support/until.ts';
import { startGateway, type TestGateway } from '../fake-core.ts';
import { openRaw, type RawAnswer, type RawConnection, sendRaw } from './raw-socket.ts';

const GOOD = '{"licenseKey":"KEY-1","machineFingerprint":"fp-1"}';
const SECURITY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

describe('a hostile request', function () {
  // Node.js itself cuts slow requests after a minute, which must not make these tests pass.
  this.timeout(15_000);
  let gateway: TestGateway;
  let reached: string[];
  before(async () => {
    const license = { licenseId: 'lic_1' };
    gateway = await startGateway(
      { bodyTimeoutMs: 400 },
      {
        activate: ({ machineFingerprint }) => {
          reached.push(machineFingerprint);
          return { license, publicKeyPem: 'PEM' };
        },
        receiveCallback: ({ fields }) => {
          reached.push(Object.keys(fields).join());
          return { body: 'ok', contentType: 'text/plain' };
        },
      },
    );
  });
  beforeEach(() => {
    reached = [];
  });
  after(() => gateway.close(0));

  const request = (line: string, headers: readonly string[] = [], body = ''): string =>
    [`${line} HTTP/1.1`, 'Host: hub', 'Connection: close', ...headers, '', body].join('\r\n');
  const get = async (target: string, headers: readonly string[] = []): Promise<RawAnswer | undefined> =>
    (await sendRaw(gateway.port, request(`GET ${target}`, headers)))[0];
  const activate = (body: string, headers: readonly string[] = []): string =>
    request(
      'POST /v1/activate',
      ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
      body,
    );
  const isUp = async (): Promise<void> => {
    expect((await gateway.get('/healthz')).status).to.equal(200);
  };

  describe('that two servers could read differently', () => {
    for (const { about, text } of smugglingRequests('/v1/activate')) {
      it(`is refused whole: ${about}`, async () => {
        const answers = await sendRaw(gateway.port, text);
        expect(answers.map(({ status }) => status)).to.deep.equal([400]);
        expect(answers[0]?.headers).to.include({ connection: 'close', ...SECURITY });
        expect(reached).to.deep.equal([]);
      });
    }

    it('is refused in pieces too', async () => {
      for (const { about, text } of smugglingRequests('/v1/activate')) {
        const connection = await openRaw(gateway.port);
        connection.socket.setNoDelay(true);
        for (let at = 0; at < text.length && !connection.socket.destroyed; at += 7) {
          await new Promise((sent) => {
            connection.socket.write(text.slice(at, at + 7), sent);
          });
        }
        const answers = await connection.closed();
        expect(answers.map(({ status }) => status).join(), about).to.be.oneOf(['400', '']); // reset as it wrote on
      }
      expect(reached).to.deep.equal([]);
    });
  });

  describe('that is too large', () => {
    it('gets 431 for a target or headers over 16 KiB', async () => {
      for (const text of [
        request(`GET /v1/status/${'x'.repeat(17_000)}`),
        request('GET /healthz', [`X: ${'x'.repeat(17_000)}`]),
        request(
          'GET /healthz',
          Array.from({ length: 3_000 }, (_, index) => `X${index}: y`),
        ),
      ]) {
        const [answer] = await sendRaw(gateway.port, text);
        expect(answer?.status).to.equal(431);
        expect(answer?.headers).to.include(SECURITY);
      }
    });

    it('gets 431 for more than 100 headers', async () => {
      const headers = Array.from({ length: 150 }, (_, index) => `X${index}: y`);
      const [answer] = await sendRaw(gateway.port, request('GET /healthz', headers));
      expect(answer?.status).to.equal(431);
      const hidden = [...headers, 'Transfer-Encoding: chunked', 'Content-Type: application/json'];
      await sendRaw(gateway.port, request('POST /v1/activate', hidden, '0\r\n\r\n'));
      expect(reached).to.deep.equal([]);
    });

    it('is one of a thousand on one connection, each answered in order and in time', async () => {
      const times = 1_000;
      const answers = await sendRaw(
        gateway.port,
        `${'GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n'.repeat(times)}${request('GET /nowhere')}`,
      );
      expect(answers).to.have.length(times + 1);
      expect(answers.at(-1)?.status).to.equal(404);
      expect(answers.slice(0, -1).every(({ status }) => status === 200)).to.equal(true);
    });
  });

  describe('that is slow', () => {
    const hanging = async (count: number, open: (connection: RawConnection) => void) => {
      const connections = await Promise.all(Array.from({ length: count }, () => openRaw(gateway.port)));
      for (const connection of connections) open(connection);
      await isUp(); // meanwhile others are served
      return (await Promise.all(connections.map((connection) => connection.closed()))).flat();
    };

    it('gets 408 while its headers trickle, and 200 of them block nobody else', async () => {
      const timers: NodeJS.Timeout[] = [];
      const answers = await hanging(200, ({ socket }) => {
        socket.write('GET /healthz HTTP/1.1\r\nHost: hub\r\n');
        timers.push(setInterval(() => socket.writable && socket.write('X: y\r\n'), 100));
      });
      for (const timer of timers) clearInterval(timer);
      expect(answers.every(({ status }) => status === 408)).to.equal(true);
      expect(answers.length).to.be.greaterThan(150); // the others were reset as they wrote
      await until(async () => (await gateway.connections()) < 5, 'their connections are closed');
    });

    it('gets 408 while its body trickles, by length or in chunks', async () => {
      const framings = ['Content-Length: 1000', 'Transfer-Encoding: chunked'];
      for (const framing of framings) {
        const answers = await hanging(20, ({ socket }) => {
          socket.write(`POST /v1/activate HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n`);
          socket.write(`${framing}\r\n\r\n`);
        });
        expect(
          answers.map(({ status }) => status),
          framing,
        ).to.deep.equal(Array(20).fill(408));
      }
    });
  });

  describe('with a disguised path', () => {
    it('gets 404: no path is an alias of another', async () => {
      for (const target of [
        '//healthz',
        '/healthz/',
        '/./healthz',
        '/x/../healthz',
        '/%2e%2e/healthz',
        '/%2fhealthz',
        '/healthz%2f',
        '/healthz%00',
        '/healthz;x=y',
        '/healthz%3fa',
        '/%68ealthz',
        '/HEALTHZ',
        '\\healthz',
        '/v1/webhooks/..%2f..%2fhealthz/x',
        '/v1/apps/../healthz',
        'http://hub//healthz',
        '*',
      ]) {
        expect((await get(target))?.status, target).to.be.oneOf([400, 404]);
      }
    });

    it('reaches no file and no property of an object', async () => {
      for (const path of ['__proto__', 'constructor', 'toString', '..%2f..%2fetc%2fpasswd', '%2e%2e%2f']) {
        expect((await get(`/${path}`))?.status, path).to.equal(404);
      }
    });

    it('gets 400 for broken or invalid UTF-8 escapes, and for a fragment', async () => {
      for (const wrong of ['%', '%4', '%zz', '%ff', '%c0%af', '%ed%a0%80', '%f5%80%80%80', '#x']) {
        for (const target of [`/v1/status/${wrong}`, `/v1/status/x?fp=${wrong}`, `/${wrong}`]) {
          expect((await get(target))?.status, target).to.equal(400);
        }
      }
      const bytes = Buffer.from(request('GET /v1/status/\xff\xfe'), 'latin1');
      expect((await sendRaw(gateway.port, bytes))[0]?.status).to.equal(400);
    });
  });

  it('cannot override its method by a header or a parameter', async () => {
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method']) {
      expect((await get(`/v1/activate?_method=POST`, [`${name}: POST`]))?.status, name).to.equal(405);
      expect((await get('/healthz', [`${name}: DELETE`]))?.status, name).to.equal(200);
    }
    expect(reached).to.deep.equal([]);
  });

  it('cannot override its path by a header', async () => {
    for (const name of ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix', 'X-Forwarded-Path']) {
      expect((await get('/nowhere', [`${name}: /healthz`]))?.status, name).to.equal(404);
    }
  });

  it('cannot change the prototype of objects', async () => {
    for (const body of [
      `{"__proto__":{"polluted":1},${GOOD.slice(1)}`,
      `{"constructor":{"prototype":{"polluted":1}},${GOOD.slice(1)}`,
      `{"\\u005f_proto__":{"polluted":1},${GOOD.slice(1)}`,
    ]) {
      expect((await sendRaw(gateway.port, activate(body)))[0]?.status).to.equal(200);
    }
    expect(
      (await sendRaw(gateway.port, activate('{"__proto__":{"licenseKey":"k","machineFingerprint":"f"}}')))[0]
        ?.status,
    ).to.equal(400);
    expect((await get('/v1/webhooks/gateway_two?__proto__=polluted&constructor=x'))?.status).to.equal(200);
    expect((await get('/v1/webhooks/gateway_two?__proto__[polluted]=1'))?.status).to.equal(400);
    expect(reached).to.deep.equal(['fp-1', 'fp-1', 'fp-1', '__proto__,constructor']);
    expect({}).not.to.have.property('polluted');
  });

  it('cannot inject a response header', async () => {
    const injection = 'x%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<b>';
    const raw = 'x\\r\\nSet-Cookie: a=b';
    for (const text of [
      request(`GET /v1/status/${injection}?fp=${injection}`),
      request(`GET /v1/apps/${injection}/limits/free`),
      request(`GET /${injection}`),
      request(`GET /v1/webhooks/gateway_two?${injection}=1&${injection}=1`),
      request(`GET /v1/webhooks/${injection}`),
      request('GET /healthz', [`X-Request-Id: ${injection}`, `Origin: ${injection}`]),
      activate(`{"licenseKey":"${raw}","machineFingerprint":["${raw}"]}`),
    ]) {
      const connection = await openRaw(gateway.port);
      connection.socket.write(text);
      const [answer] = await connection.closed();
      expect(answer?.headers, text).not.to.have.property('set-cookie');
      expect(connection.received(), text).not.to.match(/^Set-Cookie/im);
      expect(answer?.headers['x-request-id'], text).to.match(/^[0-9a-f-]{36}$/);
    }
  });

  it('gets the security headers on every response', async () => {
    const [created] = await sendRaw(gateway.port, activate(GOOD));
    const fresh = await get('/v1/apps/a/public-key', ['If-None-Match: "kid-1"']);
    const connect = await sendRaw(gateway.port, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n');
    const answers = [
      created,
      fresh,
      connect[0],
      await get('/healthz'),
      await get('/nowhere'),
      await get('/v1/activate'),
      await get('/v1/webhooks/gateway_two'),
      (await sendRaw(gateway.port, 'garbage\r\n\r\n'))[0],
    ];
    expect(answers.map((answer) => answer?.status)).to.deep.equal([200, 304, 404, 200, 404, 405, 200, 400]);
    for (const answer of answers) {
      expect(answer?.headers).to.include(SECURITY);
      expect(answer?.headers).not.to.have.any.keys('server', 'x-powered-by', 'access-control-allow-origin');
    }
  });
});
