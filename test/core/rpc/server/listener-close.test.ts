// How the listener closes: what it waits for, and what it aborts.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { until } from '../../../support/until.ts';
import { EMPTY_SETTINGS, getBy, LARGE, PREFACE, TestListener, write } from './test-listener.ts';

/** A close that waits for the end of it fails its test by the time limit. */
const LONG_GRACE_MS = 60_000;

describe('closing a listener', function () {
  this.timeout(5_000);
  let server: TestListener;

  beforeEach(async () => {
    server = await TestListener.start();
  });
  afterEach(() => server.stop());

  it('finishes at once if its connections are idle', async () => {
    await server.get('/');
    await getBy(await server.openSession(), '/');
    await server.openSocket();
    await write(await server.openSocket(), PREFACE.subarray(0, 10));
    await write(await server.openSocket(), 'GET / HTTP/1.1\r\nHo');
    const bareHttp2 = await server.openSocket();
    bareHttp2.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    await once(bareHttp2, 'data');
    await server.listener.close(LONG_GRACE_MS);
  });

  it('lets current requests finish, then closes their connections', async () => {
    const slow = [server.get('/slow'), getBy(await server.openSession(), '/slow')];
    await until(() => server.asked === 2, 'both requests are running');
    const { port } = server;
    let closed = false;
    const closing = server.listener.close(LONG_GRACE_MS).then(() => {
      closed = true;
    });
    await until(() => isRefused(port), 'new connections are refused');
    expect(closed, 'closed while requests are under way').to.equal(false);
    server.release();
    expect(await Promise.all(slow)).to.deep.equal(['1.1', '2.0']);
    await closing;
  });

  it('serves requests that were in transit when it began', async () => {
    const session = await server.openSession();
    await getBy(session, '/');
    const closing = server.listener.close(LONG_GRACE_MS);
    // The client does not know yet: nothing of this process runs in between.
    const late = [getBy(session, '/'), getBy(session, '/')];
    expect(await Promise.all(late)).to.deep.equal(['2.0', '2.0']);
    await closing;
  });

  it('sends a complete response to the last byte', async () => {
    const socket = await server.openSocket();
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: hub\r\n\r\n');
    await until(() => server.asked === 1, 'the request is answered');
    const closing = server.listener.close(LONG_GRACE_MS);
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    socket.resume();
    await Promise.all([closing, once(socket, 'close')]);
    expect(received).to.be.greaterThan(LARGE.length);
  });

  it('aborts current requests when the grace period ends', async () => {
    const slow = [server.get('/slow'), getBy(await server.openSession(), '/slow')].map((answer) =>
      answer.then(
        () => 'answered',
        () => 'cut',
      ),
    );
    await until(() => server.asked === 2, 'both requests are running');
    await server.listener.close(50);
    expect(await Promise.all(slow)).to.deep.equal(['cut', 'cut']);
  });

  it('closes the connection of a peer that does not close its side', async () => {
    const socket = await server.openSocket({ allowHalfOpen: true });
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    await once(socket, 'data');
    await server.listener.close(50);
  });

  it('can be repeated, and leaves no connection and no timer', async () => {
    await server.stop();
    const before = countResources();
    server = await TestListener.start();
    const session = await server.openSession();
    await Promise.all([server.get('/'), getBy(session, '/'), server.openSocket()]);
    server.dropClients();
    await Promise.all([server.listener.close(LONG_GRACE_MS), server.listener.close(LONG_GRACE_MS)]);
    await server.listener.close(LONG_GRACE_MS);
    await until(() => countResources() <= before, 'as few timers and sockets are left as there were', 2_000);
  });
});

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const refused = await once(socket, 'connect').then(
    () => false,
    () => true,
  );
  socket.destroy();
  return refused;
}

function countResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(Timeout|TCP)/.test(kind)).length;
}
