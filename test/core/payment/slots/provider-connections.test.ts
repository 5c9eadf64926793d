// HTTP to providers: accepted responses, and the cost of a broken provider.
import { execFile } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { HubError } from '../../../../core/errors.ts';
import { ProviderUnavailable } from '../../../../core/payment/providers/driver.ts';
import {
  type ClosableProviderHttp,
  createProviderHttp,
} from '../../../../core/payment/slots/provider-connections.ts';
import { until } from '../../../support/until.ts';
import {
  hangUp,
  raw,
  type Scripted,
  type ScriptedProvider,
  silence,
  startScriptedProvider,
} from '../providers/scripted-provider.ts';
import { rejectionOf } from '../providers/test-access.ts';

const MIB = 1024 * 1024;

describe('HTTP to a provider', () => {
  let provider: ScriptedProvider;
  let http: ClosableProviderHttp;

  beforeEach(async () => {
    provider = await startScriptedProvider();
    http = open(`${provider.url}/api`);
  });
  afterEach(async () => {
    await provider.close();
    await http.close();
  });

  const open = (baseUrl: string) =>
    createProviderHttp({ baseUrl, environment: 'sandbox', productionUrls: [] });
  const get = (url: string, timeoutMs?: number) =>
    http.send({ method: 'GET', url, ...(timeoutMs && { timeoutMs }) });
  const complaint = async (work: Promise<unknown>): Promise<string> => {
    const error = await rejectionOf(work);
    expect(error).to.be.instanceOf(ProviderUnavailable);
    return error.message;
  };

  it('sends the request, and returns status and body for any status', async () => {
    provider.on('/api/pay', raw(418, 'I’m a teapot'));
    const answer = await http.send({
      method: 'POST',
      url: `${provider.url}/api/pay?a=1`,
      headers: { 'x-app-key': 'k' },
      body: '{"n":1}',
    });
    expect(answer).to.deep.equal({ status: 418, body: 'I’m a teapot' });
    const [received] = provider.received;
    expect(received).to.include({ method: 'POST', body: '{"n":1}' });
    expect(received?.query.get('a')).to.equal('1');
    expect(received?.headers['x-app-key']).to.equal('k');
  });

  it('decodes broken UTF-8 with replacement characters', async () => {
    provider.on('/api/x', (response) => response.end(Buffer.from([0x61, 0xff, 0x62])));
    expect(await get(`${provider.url}/api/x`)).to.deep.equal({ status: 200, body: 'a�b' });
  });

  it('does not follow redirects', async () => {
    provider.on('/api/x', (response) => response.writeHead(302, { location: '/api/elsewhere' }).end('gone'));
    expect(await complaint(get(`${provider.url}/api/x`))).to.match(/redirects \(HTTP 302\)$/);
    expect(provider.received.map(({ path }) => path)).to.deep.equal(['/api/x']);
  });

  it('accepts a response of 1 MiB', async () => {
    provider.on('/api/x', raw(200, 'x'.repeat(MIB)));
    expect((await get(`${provider.url}/api/x`)).body).to.have.length(MIB);
  });

  it('aborts a response of 100 MB after the first MiB', async () => {
    let written = 0;
    const flood: Scripted = (response) => {
      const chunk = Buffer.alloc(64 * 1024, 0x78);
      const pour = (): void => {
        while (written < 100 * MIB && !response.destroyed) {
          written += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on('drain', pour);
      pour();
    };
    provider.on('/api/x', flood);
    expect(await complaint(get(`${provider.url}/api/x`))).to.match(/its response is larger than 1 MiB$/);
    // The buffers of both sockets are in transit already.
    expect(written).to.be.lessThan(20 * MIB);
  });

  it('times out if the provider does not answer', async () => {
    provider.on('/api/x', silence);
    expect(await complaint(get(`${provider.url}/api/x`, 100))).to.match(/it took longer than 100 ms$/);
  });

  it('times out if the provider sends a byte from time to time', async () => {
    const drip: Scripted = (response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    };
    provider.on('/api/x', drip);
    expect(await complaint(get(`${provider.url}/api/x`, 200))).to.match(/it took longer than 200 ms$/);
  });

  it('never waits longer than the slot allows', async () => {
    provider.on('/api/x', silence);
    const options = { environment: 'sandbox', productionUrls: [], timeoutMs: 100 } as const;
    const hasty = createProviderHttp({ baseUrl: provider.url, ...options });
    const request = hasty.send({ method: 'GET', url: `${provider.url}/api/x`, timeoutMs: 60_000 });
    expect(await complaint(request)).to.match(/it took longer than 100 ms$/);
    await hasty.close();
  });

  it('aborts when the hub stops, and otherwise leaves no timer and no listener behind', async () => {
    provider.on('/api/x', raw(200, 'x'));
    provider.on('/api/silent', silence);
    const ending = new AbortController();
    const options = { environment: 'sandbox', productionUrls: [], signal: ending.signal } as const;
    const bound = createProviderHttp({ baseUrl: provider.url, ...options });
    const ask = (path: string) => bound.send({ method: 'GET', url: `${provider.url}${path}` });
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
    const before = timers();
    for (let each = 0; each < 10; each++) await ask('/api/x');
    expect(timers()).to.be.below(before + 10);
    expect(getEventListeners(ending.signal, 'abort')).to.deep.equal([]);

    const answered = provider.received.length;
    const asked = complaint(ask('/api/silent'));
    await until(() => provider.received.length > answered, 'the provider has received a query');
    ending.abort();
    expect(await asked).to.match(/the hub is stopping$/);
    expect(await complaint(ask('/api/silent'))).to.match(/the hub is stopping$/);
    await bound.close();
  });

  it('reports that the provider closed the connection', async () => {
    provider.on('/api/x', hangUp);
    expect(await complaint(get(`${provider.url}/api/x`))).to.match(/it closed the connection$/);
  });

  it('reports a truncated response', async () => {
    provider.on('/api/x', (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"status":');
      setImmediate(() => response.destroy());
    });
    expect(await complaint(get(`${provider.url}/api/x`))).to.match(/it closed the connection|cut off$/);
  });

  it('reports a refused connection', async () => {
    await provider.close();
    expect(await complaint(get(`${provider.url}/api/x`))).to.match(/it refused the connection$/);
    provider = await startScriptedProvider();
  });

  it('reports an unknown host name', async () => {
    const lost = open('http://provider.invalid');
    const message = await complaint(lost.send({ method: 'GET', url: 'http://provider.invalid/x' }));
    expect(message).to.match(
      /^no answer from provider\.invalid: its name (does not resolve|cannot be looked up)$/,
    );
    await lost.close();
  });

  it('reports that the provider does not use HTTP', async () => {
    const server = createServer(
      (socket) => void socket.on('error', () => {}).end('220 mail.example ESMTP\r\n'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${portOf(server)}`;
    const mail = open(url);
    const error = await rejectionOf(mail.send({ method: 'GET', url }));
    await mail.close();
    server.close();
    expect(error.message).to.match(/it does not use HTTP$/);
  });

  for (const path of ['/other', '/api/../other', '/apiary', '/api/%2e%2e/other', '']) {
    it(`does not leave the base URL by "${path}"`, async () => {
      expect(await complaint(get(`${provider.url}${path}`))).to.match(/address is not below/);
      expect(provider.received).to.deep.equal([]);
    });
  }

  it('does not leave the host', async () => {
    for (const url of [
      'http://127.0.0.1:1/api/x',
      `http://a@${new URL(provider.url).host}.evil/api/x`,
      'x',
    ]) {
      expect(await complaint(get(url))).to.match(/address is not below/);
    }
  });

  it('reuses its connections', async () => {
    const sockets = new Set<Socket | null>();
    provider.on('/api/x', (response) => {
      sockets.add(response.socket);
      response.end('ok');
    });
    for (let n = 0; n < 20; n++) await get(`${provider.url}/api/x`);
    // A second one may be opened while the first is not quite done.
    expect(sockets.size).to.be.lessThan(4);
  });

  it('lets a running request finish before it closes, and accepts no other', async () => {
    let answer = (): void => {};
    provider.on('/api/x', (response) => {
      answer = () => void response.end('at last');
    });
    const underWay = get(`${provider.url}/api/x`);
    await until(() => provider.received.length === 1, 'the request has arrived');
    const closed = http.close();
    expect(await complaint(get(`${provider.url}/api/x`))).to.include('no answer from');
    answer();
    expect(await underWay).to.deep.equal({ status: 200, body: 'at last' });
    await closed;
    http = open(provider.url);
  });
});

describe('HTTP to a provider in production', () => {
  const PRODUCTION = ['https://pay.example/api', 'https://pay2.example'];
  const open = (baseUrl: string) =>
    createProviderHttp({ baseUrl, environment: 'production', productionUrls: PRODUCTION });

  it('connects to the hosts of the provider', async () => {
    for (const url of [...PRODUCTION, 'https://pay.example/v2', 'https://PAY.example:443/'])
      await open(url).close();
  });

  const elsewhere = [
    'http://pay.example/api',
    'https://pay.example:8443',
    'https://pay.example.evil',
    'https://evil',
  ];
  for (const url of elsewhere) {
    it(`does not connect to ${url}`, () => {
      expect(() => open(url))
        .to.throw(HubError, 'must be on https://pay.example or https://pay2.example')
        .with.property('code', 'base_url_invalid');
    });
  }

  it('trusts no self-signed certificate, even if the environment allows it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hub-test-'));
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const request =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2';
    await promisify(execFile)('openssl', [...request.split(' '), '-keyout', keyFile, '-out', certFile]);
    const tls = { key: await readFile(keyFile), cert: await readFile(certFile) };
    let requests = 0;
    const server = createHttpsServer(tls, (_, response) => {
      requests++;
      response.end('secret');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://localhost:${portOf(server)}`;
    const http = createProviderHttp({ baseUrl: url, environment: 'production', productionUrls: [url] });
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const error = await rejectionOf(http.send({ method: 'GET', url: `${url}/x` }));
      expect(error.message).to.match(/its TLS certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/);
      expect(requests).to.equal(0);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
      await http.close();
      server.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port; // it listens on TCP
}
