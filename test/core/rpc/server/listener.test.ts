// One port for both protocols: how it distinguishes them.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { createListener, listen } from '../../../../core/rpc/server/listener.ts';
import { until } from '../../../support/until.ts';
import { EMPTY_SETTINGS, getBy, PREFACE, TestListener, write } from './test-listener.ts';

const SETTINGS_TYPE = 4;

describe('listener', function () {
  this.timeout(5_000);
  let server: TestListener;

  beforeEach(async () => {
    server = await TestListener.start();
  });
  afterEach(() => server.stop());

  it('answers HTTP/1.1 and HTTP/2 on the same port', async () => {
    const session = await server.openSession();
    expect(await Promise.all([server.get('/'), getBy(session, '/')])).to.deep.equal(['1.1', '2.0']);
    expect(await Promise.all([getBy(session, '/'), server.get('/')])).to.deep.equal(['2.0', '1.1']);
  });

  it('recognizes HTTP/2 by its whole preface, in any pieces', async () => {
    const socket = await server.openSocket();
    const answered = once(socket, 'data');
    for (const byte of Buffer.concat([PREFACE, EMPTY_SETTINGS])) await write(socket, Buffer.of(byte));
    const [frame]: Buffer[] = await answered;
    expect(frame?.at(3), 'type of the first frame').to.equal(SETTINGS_TYPE);
  });

  it('recognizes HTTP/1.1 by the first byte that differs from the preface', async () => {
    const socket = await server.openSocket();
    const answered = once(socket, 'data');
    for (const piece of ['P', 'R', 'OPFIND / HTTP/1.1\r\nHost: hub\r\n\r\n']) await write(socket, piece);
    expect(String(await answered)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('refuses other protocols', async () => {
    const socket = await server.openSocket();
    const answered = once(socket, 'data');
    socket.write('\x16\x03\x01 hello\r\n\r\n');
    expect(String(await answered)).to.match(/^HTTP\/1\.1 400 /);
  });

  it('closes a session with garbage after the preface, and serves the others', async () => {
    const session = await server.openSession();
    const socket = await server.openSocket();
    socket.write(Buffer.concat([PREFACE, Buffer.alloc(64, 'x')]));
    await once(socket, 'close');
    expect(await getBy(session, '/')).to.equal('2.0');
  });

  it('closes a connection that sends nothing, or half of the preface', async () => {
    await server.stop();
    server = await TestListener.start({ peekTimeoutMs: 100 });
    const [silent, hesitant] = [await server.openSocket(), await server.openSocket()];
    hesitant.write(PREFACE.subarray(0, 10));
    await Promise.all([once(silent, 'close'), once(hesitant, 'close')]);
    // On a busy machine a correct client can also miss such a short deadline.
    const isServed = () => server.get('/').catch(() => undefined);
    await until(async () => (await isServed()) === '1.1', 'others are served');
  });

  it('drops a connection that ends within the preface', async () => {
    const socket = await server.openSocket({ allowHalfOpen: true });
    socket.end(PREFACE.subarray(0, 10));
    await once(socket, 'end');
  });

  it('probes silent connections, so that those of vanished clients end', async function () {
    if (process.platform !== 'linux') this.skip();
    const { localPort } = await server.openSocket();
    const hex = Number(localPort).toString(16).toUpperCase().padStart(4, '0');
    const timers = async (): Promise<(string | undefined)[]> =>
      (await readFile('/proc/net/tcp', 'utf8'))
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([, , remote]) => remote?.endsWith(`:${hex}`))
        .map(([, , , , , timer]) => timer?.slice(0, 2));
    // proc(5): 02 is the timer of keepalive probes.
    await until(async () => (await timers()).includes('02'), 'the server probes the connection');
  });

  it('closes the connection of an HTTP/2 client that has ended', async () => {
    const socket = await server.openSocket({ allowHalfOpen: true });
    const greeted = once(socket, 'data');
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    await greeted;
    const ended = once(socket, 'end');
    socket.end();
    await ended;
  });

  it('names the address and the remedy if its port is taken', async () => {
    const second = createListener(() => {});
    const failure = await listen(second.server, server.port, '127.0.0.1', '--port').then(
      () => 'listened',
      (error: Error) => error.message,
    );
    expect(failure).to.equal(
      `cannot listen on 127.0.0.1:${server.port}: the port is in use: stop the program that uses it, or choose another with --port (0 takes any free port)`,
    );
  });
});
