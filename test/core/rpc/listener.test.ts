// The one port for both protocols: how it tells them apart, and how it closes.
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { expect } from 'chai';
import { createListener, type Listener, listen, urlOf } from '../../../core/rpc/listener.ts';
import { until } from '../../support/until.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const SETTINGS_TYPE = 4;
const LARGE = Buffer.alloc(16 * 1024 * 1024, 'x');
/** A close that waits this long fails the test by its time limit. */
const LONG_GRACE_MS = 60_000;

describe('listener', function () {
  this.timeout(5_000);
  let listener: Listener;
  let port: number;
  let release: () => void;
  let asked: number;
  let leftovers: (() => void)[];

  beforeEach(() => start());
  afterEach(async () => {
    release();
    for (const drop of leftovers) drop();
    await listener.close(0);
  });

  it('answers HTTP/1.1 and HTTP/2 on the same port', async () => {
    const agent = keepAliveAgent();
    const session = await openSession();
    expect(await Promise.all([get(agent, '/'), getBy(session, '/')])).to.deep.equal(['1.1', '2.0']);
    expect(await Promise.all([getBy(session, '/'), get(agent, '/')])).to.deep.equal(['2.0', '1.1']);
  });

  it('knows HTTP/2 by its whole preface, in however many pieces it comes', async () => {
    const socket = await openSocket();
    const answered = once(socket, 'data');
    for (const byte of Buffer.concat([PREFACE, EMPTY_SETTINGS])) await write(socket, Buffer.of(byte));
    const [frame]: Buffer[] = await answered;
    expect(frame?.at(3), 'type of the first frame').to.equal(SETTINGS_TYPE);
  });

  it('knows HTTP/1.1 by the first byte that differs from the preface', async () => {
    const socket = await openSocket();
    const answered = once(socket, 'data');
    for (const piece of ['P', 'R', 'OPFIND / HTTP/1.1\r\nHost: hub\r\n\r\n']) await write(socket, piece);
    expect(String(await answered)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('refuses what is neither', async () => {
    const socket = await openSocket();
    const answered = once(socket, 'data');
    socket.write('\x16\x03\x01 hello\r\n\r\n');
    expect(String(await answered)).to.match(/^HTTP\/1\.1 400 /);
  });

  it('cuts a connection that says nothing, or only half of the preface', async () => {
    await restart({ peekTimeoutMs: 50 });
    const [silent, hesitant] = [await openSocket(), await openSocket()];
    hesitant.write(PREFACE.subarray(0, 10));
    await Promise.all([once(silent, 'close'), once(hesitant, 'close')]);
    expect(await get(keepAliveAgent(), '/')).to.equal('1.1');
  });

  it('closes at once when nothing is under way on its connections', async () => {
    await get(keepAliveAgent(), '/');
    await getBy(await openSession(), '/');
    const [, hesitant, halfHeader, bareHttp2] = await Promise.all([1, 2, 3, 4].map(() => openSocket()));
    await write(hesitant, PREFACE.subarray(0, 10));
    await write(halfHeader, 'GET / HTTP/1.1\r\nHo');
    bareHttp2?.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    if (bareHttp2) await once(bareHttp2, 'data');
    await listener.close(LONG_GRACE_MS);
  });

  it('lets requests under way finish, then ends their connections', async () => {
    const slow = [get(keepAliveAgent(), '/slow'), getBy(await openSession(), '/slow')];
    await until(() => asked === 2, 'both requests are under way');
    const closed = listener.close(LONG_GRACE_MS).then(() => 'closed');
    await until(() => isRefused(), 'new connections are refused');
    expect(await Promise.race([closed, Promise.resolve('open')])).to.equal('open');
    release();
    expect(await Promise.all(slow)).to.deep.equal(['1.1', '2.0']);
    expect(await closed).to.equal('closed');
  });

  it('sends an answer that is complete when it closes to the last byte', async () => {
    const socket = await openSocket();
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: hub\r\n\r\n');
    await until(() => asked === 1, 'the request is answered');
    const closed = listener.close(LONG_GRACE_MS);
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    socket.resume();
    await Promise.all([closed, once(socket, 'close')]);
    expect(received).to.be.greaterThan(LARGE.length);
  });

  it('cuts what is still under way when the grace ends', async () => {
    const session = await openSession();
    const slow = [get(keepAliveAgent(), '/slow'), getBy(session, '/slow')].map((answer) =>
      answer.then(
        () => 'answered',
        () => 'cut',
      ),
    );
    await until(() => asked === 2, 'both requests are under way');
    await listener.close(50);
    expect(await Promise.all(slow)).to.deep.equal(['cut', 'cut']);
  });

  it('cuts a peer that does not close its side when the grace ends', async () => {
    const socket = await openSocket({ allowHalfOpen: true });
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    await once(socket, 'data');
    await listener.close(50);
  });

  it('can be closed again, and leaves no connection and no timer', async () => {
    release();
    for (const drop of leftovers) drop();
    await listener.close(0);
    const before = countResources();
    await start();
    const session = await openSession();
    await Promise.all([get(keepAliveAgent(), '/'), getBy(session, '/'), openSocket()]);
    for (const drop of leftovers) drop();
    await Promise.all([listener.close(LONG_GRACE_MS), listener.close(LONG_GRACE_MS)]);
    await listener.close(LONG_GRACE_MS);
    await until(() => countResources() <= before, 'as few timers and sockets are left as there were', 2_000);
  });

  it('names the address and the fix when its port is taken', async () => {
    const { server } = createListener(() => {});
    const failure = await listen(server, port, '127.0.0.1').then(
      () => 'listened',
      (error: Error) => error.message,
    );
    expect(failure).to.equal(
      `cannot listen on 127.0.0.1:${port}: the port is taken: stop what uses it, or choose another`,
    );
  });

  async function start(options: { peekTimeoutMs?: number } = {}): Promise<void> {
    const held = Promise.withResolvers<void>();
    release = held.resolve;
    asked = 0;
    leftovers = [];
    listener = createListener(async (request, response: http.ServerResponse | http2.Http2ServerResponse) => {
      asked++;
      if (request.url === '/slow') await held.promise;
      response.setHeader('x-http-version', request.httpVersion);
      response.end(request.url === '/large' ? LARGE : 'ok');
    }, options);
    await listen(listener.server, 0, '127.0.0.1');
    port = Number(new URL(urlOf(listener.server)).port);
  }

  async function restart(options: { peekTimeoutMs: number }): Promise<void> {
    await listener.close(0);
    await start(options);
  }

  function keepAliveAgent(): http.Agent {
    const agent = new http.Agent({ keepAlive: true });
    leftovers.push(() => agent.destroy());
    return agent;
  }

  /** The protocol version by which the server answered. */
  async function get(agent: http.Agent, path: string): Promise<unknown> {
    const [response]: http.IncomingMessage[] = await once(http.get({ agent, port, path }), 'response');
    response?.resume();
    if (response) await once(response, 'end');
    return response?.headers['x-http-version'];
  }

  async function openSession(): Promise<http2.ClientHttp2Session> {
    const session = http2.connect(`http://127.0.0.1:${port}`);
    leftovers.push(() => session.destroy());
    session.on('error', () => {}); // a cut session fails its requests, which tell
    await once(session, 'connect');
    return session;
  }

  async function getBy(session: http2.ClientHttp2Session, path: string): Promise<unknown> {
    const stream = session.request({ ':path': path });
    const [headers]: http2.IncomingHttpHeaders[] = await once(stream, 'response');
    stream.resume();
    await once(stream, 'end');
    return headers?.['x-http-version'];
  }

  async function openSocket(options: { allowHalfOpen?: boolean } = {}): Promise<net.Socket> {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, ...options });
    leftovers.push(() => socket.destroy());
    socket.on('error', () => {}); // a reset ends the connection as well as a close
    await once(socket, 'connect');
    socket.resume();
    return socket;
  }

  async function isRefused(): Promise<boolean> {
    const socket = net.connect(port, '127.0.0.1');
    const refused = await once(socket, 'connect').then(
      () => false,
      () => true,
    );
    socket.destroy();
    return refused;
  }
});

/** Writes, and lets the other side read it before what is written next. */
async function write(socket: net.Socket | undefined, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    socket?.write(data, () => setImmediate(resolve));
  });
}

function countResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(Timeout|TCP)/.test(kind)).length;
}
