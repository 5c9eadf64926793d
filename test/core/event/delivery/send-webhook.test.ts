// Webhooks on real sockets: what is sent, and what answers and broken endpoints become.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createAddressPolicy } from '../../../../core/event/delivery/address-policy.ts';
import {
  createWebhookSender,
  type SendResult,
  type WebhookSender,
  type WebhookSenderOptions,
} from '../../../../core/event/delivery/send-webhook.ts';
import { type Certificates, makeCertificates } from '../../../support/network/certificates.ts';
import { type DnsServer, startDnsServer } from '../../../support/network/dns-server.ts';
import { until } from '../../../support/until.ts';
import { listen, startTarget, type Target } from './webhook-targets.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const policy = createAddressPolicy(['127.0.0.0/8']);
const problemOf = (result: SendResult): string =>
  result.kind === 'answered' ? expect.fail(`it answered ${result.status}`) : result.problem;

describe('sending a webhook', () => {
  const senders: WebhookSender[] = [];
  const targets: Target[] = [];
  afterEach(async () => {
    await Promise.all(targets.splice(0).map((each) => each.close()));
    await Promise.all(senders.splice(0).map((each) => each.close()));
  });
  const open = (options: Partial<WebhookSenderOptions> = {}): WebhookSender => {
    const sender = createWebhookSender({ policy, ...options });
    senders.push(sender);
    return sender;
  };
  const answering = async (answer: Answer): Promise<Target> => {
    const target = await listen(createServer((request, response) => answer(response, request)));
    targets.push(target);
    return target;
  };
  const onSocket = async (accept: (socket: Socket) => void): Promise<Target> => {
    const target = await startTarget(accept);
    targets.push(target);
    return target;
  };
  const sendTo = ({ port }: Target, options: Partial<WebhookSenderOptions> = {}): Promise<SendResult> =>
    open(options).send({ url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' });

  it('posts the body with the headers, and returns status and body', async () => {
    const received: unknown[] = [];
    const { port } = await answering(async (response, request) => {
      const { method, url, headers } = request;
      received.push({ method, url, headers, body: await text(request) });
      response.writeHead(202).end('thank you');
    });
    const headers = { 'webhook-id': 'evt_1', 'webhook-signature': 'v1,a v1,b' };
    const url = `http://127.0.0.1:${port}/hook?tenant=1`;
    const result = await open().send({ url, headers, body: '{"n":"é"}' });
    expect(result).to.deep.equal({ kind: 'answered', status: 202, body: 'thank you' });
    expect(received).to.have.length(1);
    expect(received[0]).to.deep.equal({
      method: 'POST',
      url: '/hook?tenant=1',
      body: '{"n":"é"}',
      headers: {
        ...headers,
        host: `127.0.0.1:${port}`,
        connection: 'keep-alive',
        'user-agent': 'hubctl',
        'content-type': 'application/json',
        'content-length': '10',
      },
    });
  });

  for (const status of [200, 204, 301, 400, 410, 429, 500, 503]) {
    it(`returns the status ${status} as an answer`, async () => {
      const target = await answering((response) => response.writeHead(status, { location: '/x' }).end());
      expect(await sendTo(target)).to.deep.equal({ kind: 'answered', status, body: '' });
    });
  }

  it('returns the pause that Retry-After asks for', async () => {
    let value: string | readonly string[] = '90';
    const target = await answering((response) =>
      response.setHeader('retry-after', value).writeHead(503).end(),
    );
    const clock = () => new Date('2026-03-01T12:00:00Z');
    expect(await sendTo(target, { clock })).to.have.property('retryAfterMs', 90_000);
    value = 'Sun, 01 Mar 2026 12:00:30 GMT';
    expect(await sendTo(target, { clock })).to.have.property('retryAfterMs', 30_000);
    value = ['5', '600'];
    expect(await sendTo(target, { clock })).to.have.property('retryAfterMs', 5_000);
    value = 'later';
    expect(await sendTo(target, { clock })).to.not.have.property('retryAfterMs');
  });

  it('keeps 1000 characters of the body, whole ones and without NUL', async () => {
    const target = await answering((response) => response.end(`\0${'😀'.repeat(1500)}`));
    expect(await sendTo(target)).to.have.property('body', `\uFFFD${'😀'.repeat(999)}`);
  });

  it('reuses a connection, and closes the one of an answer beyond 16 KiB', async () => {
    let size = 16 * 1024 - 1;
    const target = await answering((response) => response.end('x'.repeat(size)));
    const sender = open();
    const webhook = { url: `http://127.0.0.1:${target.port}/`, headers: {}, body: '{}' };
    for (let n = 0; n < 5; n++) await sender.send(webhook);
    // A second one may be opened while the first is not quite done.
    expect(target.connections).to.have.length.below(4);
    expect(target.connections.some(({ destroyed }) => destroyed)).to.equal(false);
    size = 10 * 1024 * 1024;
    expect(await sender.send(webhook)).to.have.property('body', 'x'.repeat(1000));
    await until(() => target.connections.some(({ destroyed }) => destroyed), 'the connection is closed');
  });

  it('stops to read an endless answer', async () => {
    const target = await answering((response) => {
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', pour);
      pour();
    });
    expect(await sendTo(target)).to.deep.equal({ kind: 'answered', status: 200, body: 'x'.repeat(1000) });
    await until(() => target.connections[0]?.destroyed === true, 'the connection is closed');
    expect(target.connections[0]?.bytesWritten).to.be.lessThan(20 * 1024 * 1024);
  });

  it('is not delayed by others to the same origin that hang', async () => {
    const target = await answering((response, request) => request.url === '/fast' && response.end());
    const sender = open();
    const url = `http://127.0.0.1:${target.port}`;
    const slow = Array.from({ length: 40 }, () =>
      sender.send({ url: `${url}/slow`, headers: {}, body: '{}' }),
    );
    await until(() => target.connections.length === 40, 'all requests have connections');
    expect(await sender.send({ url: `${url}/fast`, headers: {}, body: '{}' })).to.have.property(
      'status',
      200,
    );
    for (const socket of target.connections) socket.destroy();
    await Promise.all(slow);
  });

  it('fails after the deadline if the endpoint does not answer, and hangs up', async () => {
    const target = await onSocket(() => {});
    const problem = `no answer from 127.0.0.1:${target.port}: it took longer than 200 ms`;
    expect(await sendTo(target, { timeoutMs: 200 })).to.deep.equal({ kind: 'failed', problem });
    await until(() => target.connections[0]?.readableEnded === true, 'the connection is closed');
  });

  it('fails after the deadline if the header comes a byte at a time', async () => {
    const target = await onSocket((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    expect(problemOf(await sendTo(target, { timeoutMs: 200 }))).to.match(/it took longer than 200 ms$/);
  });

  it('has an answer if the body is not over at the deadline, or is cut off', async () => {
    const slow = await answering((response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const late = await sendTo(slow, { timeoutMs: 200 });
    expect(late).to.deep.include({ kind: 'answered', status: 200 });
    expect(late).to.have.property('body').that.matches(/^x+$/);
    const cut = await answering((response) => {
      response.writeHead(200, { 'content-length': 100 }).write('received', () => response.destroy());
    });
    expect(await sendTo(cut)).to.deep.equal({ kind: 'answered', status: 200, body: 'received' });
  });

  it('fails at the deadline if the name server does not answer', async () => {
    const dns = await startDnsServer(() => undefined);
    const sender = open({ policy: createAddressPolicy([], dns), timeoutMs: 200 });
    const result = await sender.send({ url: 'https://slow.example/', headers: {}, body: '{}' });
    const problem = 'no answer from slow.example: it took longer than 200 ms';
    expect(result).to.deep.equal({ kind: 'failed', problem });
    await dns.close();
  });

  it('fails if the name does not resolve', async () => {
    const dns = await startDnsServer(() => []);
    const sender = open({ policy: createAddressPolicy([], dns) });
    const result = await sender.send({ url: 'https://none.example/', headers: {}, body: '{}' });
    expect(problemOf(result)).to.equal('no answer from none.example: its name does not resolve');
    await dns.close();
  });

  const broken: Readonly<Record<string, readonly [RegExp, (socket: Socket) => void]>> = {
    'resets the connection': [
      /it closed the connection$/,
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
    ],
    'closes the connection': [
      /it closed the connection$/,
      (socket) => socket.once('data', () => socket.end()),
    ],
    'does not use HTTP': [/it does not use HTTP$/, (socket) => socket.end('220 mail.example ESMTP\r\n')],
    'sends a header without end': [
      /the header of its response is larger than 16 KiB$/,
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1024 * 1024)}`),
    ],
    'sends too many header fields': [
      /the header of its response is larger than 16 KiB$/,
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}\r\n`),
    ],
    'switches protocols': [
      /it closed the connection$/,
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    ],
  };
  for (const [what, [problem, accept]] of Object.entries(broken)) {
    it(`fails if the endpoint ${what}`, async () => {
      expect(problemOf(await sendTo(await onSocket(accept)))).to.match(problem);
    });
  }

  it('fails if the endpoint refuses the connection', async () => {
    const target = await startTarget();
    await target.close();
    expect(problemOf(await sendTo(target))).to.match(/it refused the connection$/);
  });

  it('fails if a header is invalid, without showing it', async () => {
    const target = await answering((response) => response.end());
    const url = `http://127.0.0.1:${target.port}/?token=secret`;
    const result = await open().send({ url, headers: { 'webhook-id': 'secret\r\nx: y' }, body: 'secret' });
    expect(problemOf(result)).to.match(/^no answer from 127\.0\.0\.1:\d+: the exchange failed/);
    expect(problemOf(result)).to.not.include('secret');
  });

  it('uses no proxy of the environment', async () => {
    const target = await answering((response) => response.end('direct'));
    const proxy = await onSocket((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const env = {
      ...Object.fromEntries(names.map((name) => [name, proxyUrl])),
      NODE_USE_ENV_PROXY: '1',
      URL: `http://127.0.0.1:${target.port}/`,
    };
    const program = fileURLToPath(new URL('send-once.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
    const { sent, fetched } = JSON.parse(stdout);
    expect(sent).to.deep.equal({ kind: 'answered', status: 200, body: 'direct' });
    // The variables have an effect on others.
    expect(fetched).to.not.equal('direct');
    expect(proxy.connections).to.not.have.length(0);
  });

  it('aborts when the hub stops', async () => {
    const target = await onSocket(() => {});
    const ending = new AbortController();
    const sent = sendTo(target, { signal: ending.signal });
    await until(() => target.connections.length === 1, 'the connection is open');
    ending.abort();
    expect(problemOf(await sent)).to.match(/the hub is stopping$/);
  });

  it('lets a running exchange finish before it closes, and accepts no other', async () => {
    let answer = (): void => {};
    const target = await answering((response) => {
      answer = () => void response.end('at last');
    });
    const sender = open();
    const webhook = { url: `http://127.0.0.1:${target.port}/`, headers: {}, body: '{}' };
    const sent = sender.send(webhook);
    await until(() => target.connections.length === 1, 'the connection is open');
    const closed = sender.close();
    expect(problemOf(await sender.send(webhook))).to.match(/the hub is stopping$/);
    await until(() => {
      answer();
      return sent.then(() => true);
    }, 'it is answered');
    expect(await sent).to.have.property('body', 'at last');
    await closed;
  });
});

describe('sending a webhook by TLS', () => {
  let certificates: Certificates;
  let dns: DnsServer;
  let trusted: { cert: Buffer; key: Buffer };
  let untrusted: { cert: Buffer; key: Buffer };
  const defaults = getCACertificates('default');

  before(async () => {
    dns = await startDnsServer(() => ['127.0.0.1']);
    certificates = await makeCertificates();
    const [issuer, stranger] = [
      await certificates.createIssuer('issuer'),
      await certificates.createIssuer('stranger'),
    ];
    const pair = await issuer.issue('/CN=hooks', 2, 'DNS:hooks.example');
    const other = await stranger.issue('/CN=hooks', 2, 'DNS:hooks.example');
    trusted = { cert: await readFile(pair.cert), key: await readFile(pair.key) };
    untrusted = { cert: await readFile(other.cert), key: await readFile(other.key) };
    setDefaultCACertificates([...defaults, await readFile(issuer.ca, 'utf8')]);
  });
  after(async () => {
    setDefaultCACertificates(defaults);
    await Promise.all([dns.close(), certificates.remove()]);
  });

  const sendTo = async (name: string, pair: { cert: Buffer; key: Buffer }) => {
    let requests = 0;
    const target = await listen(
      createHttpsServer(pair, (_, response) => {
        requests++;
        response.end('by TLS');
      }),
    );
    const sender = createWebhookSender({ policy: createAddressPolicy(['127.0.0.1'], dns) });
    const url = `https://${name}:${target.port}/`;
    const result = await sender.send({ url, headers: {}, body: '{}' });
    await target.close();
    await sender.close();
    return { result, requests };
  };

  it('checks the name of the endpoint, not its address', async () => {
    const { result } = await sendTo('hooks.example', trusted);
    expect(result).to.deep.equal({ kind: 'answered', status: 200, body: 'by TLS' });
  });

  it('fails for the certificate of another name', async () => {
    const { result, requests } = await sendTo('other.example', trusted);
    expect(problemOf(result)).to.match(
      /its TLS certificate is not trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
    );
    expect(requests).to.equal(0);
  });

  it('fails for an untrusted certificate, even if the environment allows it', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const { result, requests } = await sendTo('hooks.example', untrusted);
      expect(problemOf(result)).to.match(/its TLS certificate is not trusted \([A-Z_]+\)$/);
      expect(requests).to.equal(0);
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });

  it('fails if the endpoint does not use TLS', async () => {
    const target = await startTarget((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    const sender = createWebhookSender({ policy: createAddressPolicy(['127.0.0.1'], dns) });
    const url = `https://hooks.example:${target.port}/`;
    expect(problemOf(await sender.send({ url, headers: {}, body: '{}' }))).to.match(/it does not use TLS$/);
    await target.close();
    await sender.close();
  });
});
