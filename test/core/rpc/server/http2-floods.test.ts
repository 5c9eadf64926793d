// What the RPC port bears of HTTP/2: floods of frames, streams and headers that never end, and silence.
import { once } from 'node:events';
import * as http2 from 'node:http2';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { ListenerOptions } from '../../../../core/rpc/server/listener.ts';
import { until } from '../../../support/until.ts';
import { EMPTY_SETTINGS, getBy, PREFACE, TestListener } from './test-listener.ts';

const { NGHTTP2_CANCEL } = http2.constants;
const [HEADERS, SETTINGS, PING, CONTINUATION] = [1, 4, 6, 9];

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

describe('an HTTP/2 connection', () => {
  let server: TestListener;
  const start = async (options: ListenerOptions = {}): Promise<void> => {
    server = await TestListener.start(options);
  };
  afterEach(() => server.stop());

  const isServed = async (): Promise<void> => {
    expect(await getBy(await server.openSession(), '/')).to.equal('2.0');
  };
  /** Writes on until the other side has had enough. */
  const flood = async (socket: Socket, bytes: Buffer): Promise<void> => {
    socket.write(Buffer.concat([PREFACE, EMPTY_SETTINGS]));
    await until(
      async () => {
        if (!socket.destroyed && socket.writableLength < 1e6) socket.write(bytes);
        return socket.destroyed;
      },
      'the connection is cut',
      20_000,
    );
  };

  it('that cancels its requests at once is closed early', async () => {
    await start();
    const session = await server.openSession();
    let calmed: number | undefined;
    session.on('goaway', (code) => {
      calmed = code;
    });
    for (let round = 0; round < 200 && !session.destroyed; round += 1) {
      for (let count = 0; count < 50 && !session.destroyed && !session.closed; count += 1) {
        const stream = session.request({ ':path': '/slow' });
        stream.on('error', () => {});
        stream.close(NGHTTP2_CANCEL);
      }
      await new Promise(setImmediate);
    }
    await until(() => session.destroyed, 'the session is ended');
    expect(calmed, 'it is told to go').to.be.a('number');
    expect(server.asked).to.be.below(5_000);
    await isServed();
  });

  it('with endless headers is closed', async () => {
    await start();
    const headers = frame(HEADERS, 0, 1, Buffer.of(0x82));
    const more = Buffer.concat(Array.from({ length: 100 }, () => frame(CONTINUATION, 0, 1, Buffer.alloc(0))));
    await flood(await server.openSocket(), Buffer.concat([headers, more]));
    expect(server.asked).to.equal(0);
    await isServed();
  });

  for (const [name, bytes] of [
    ['pings', frame(PING, 0, 0, Buffer.alloc(8))],
    ['settings', frame(SETTINGS, 0, 0, Buffer.alloc(6))],
  ] as const) {
    it(`that floods ${name} and reads no responses is closed`, async () => {
      await start();
      const socket = await server.openSocket();
      socket.pause();
      await flood(socket, Buffer.concat(Array.from({ length: 10_000 }, () => bytes)));
      await isServed();
    });
  }

  it('with more headers than HTTP/1 may have is refused', async () => {
    await start();
    const session = await server.openSession();
    for (const headers of [
      Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x${index}`, 'y'])),
      { x: 'y'.repeat(17_000) },
    ]) {
      const stream = session.request({ ':path': '/', ...headers });
      stream.on('error', () => {});
      let status: unknown;
      stream.on('response', (answer) => {
        status = answer[':status'];
      });
      await until(() => stream.closed, 'the stream is closed');
      expect(status, Object.keys(headers)[0]).to.be.oneOf([undefined, 431]);
    }
    expect(server.asked).to.equal(0);
  });

  it('loses a stream with an endless request, and keeps the others', async () => {
    await start({ exchangeMs: 300 });
    const session = await server.openSession();
    const endless = session.request({ ':method': 'POST', ':path': '/slow' }, { endStream: false });
    endless.on('error', () => {});
    const slow = getBy(session, '/slow');
    await until(() => endless.closed, 'the stream is cut');
    expect(endless.rstCode).to.equal(NGHTTP2_CANCEL);
    server.release();
    expect(await slow).to.equal('2.0');
  });

  it('loses a stream whose response it does not read, and keeps the others', async () => {
    await start({ exchangeMs: 300 });
    const session = await server.openSession();
    const unread = session.request({ ':path': '/medium' });
    unread.on('error', () => {});
    unread.pause();
    await once(unread, 'response');
    await until(() => unread.rstCode === NGHTTP2_CANCEL, 'the stream is cut');
    expect(await getBy(session, '/')).to.equal('2.0');
  });

  it('loses the largest of its unread responses when they use too much memory together', async () => {
    await start({ exchangeMs: 3_000, unreadBytes: 2_500_000 });
    const session = await server.openSession();
    const unread = ['/medium', '/medium', '/large'].map((path) => {
      const stream = session.request({ ':path': path });
      stream.on('error', () => {});
      stream.pause();
      return stream;
    });
    const startedAt = performance.now();
    await until(() => unread[2]?.closed === true, 'the largest is cut');
    expect(performance.now() - startedAt, 'before its time is over').to.be.below(2_500);
    expect(unread.map((stream) => stream.closed)).to.deep.equal([false, false, true]);
  });

  it('with large unread responses is replaced before streams are refused', async () => {
    await start();
    let session = await server.openSession();
    let sessions = 1;
    for (let turn = 0; turn < 150; turn += 1) {
      if (session.closed || session.destroyed) {
        session = await server.openSession();
        sessions += 1;
      }
      const stream = session.request({ ':path': '/medium' });
      stream.on('error', () => {});
      await once(stream, 'data');
      stream.close(NGHTTP2_CANCEL);
      await until(() => stream.closed, 'the stream is closed');
    }
    expect(sessions).to.be.above(1);
    expect(await getBy(await server.openSession(), '/')).to.equal('2.0');
  });

  it('is closed when it is idle, with or without pings, but not while it waits for a response', async () => {
    await start({ idleMs: 200 });
    const [idle, busy] = [await server.openSession(), await server.openSession()];
    const answer = getBy(busy, '/slow');
    const ping = setInterval(() => idle.destroyed || idle.closed || idle.ping(() => {}), 50);
    await once(idle, 'close');
    clearInterval(ping);
    expect(busy.closed).to.equal(false);
    server.release();
    expect(await answer).to.equal('2.0');
    await once(busy, 'close');
  });

  it('with an idle stream is closed if it answers no ping, and kept otherwise', async () => {
    await start({ exchangeMs: 400 });
    const deaf = await server.openSocket();
    // A GET of /slow, whose headers are written out by hand; nothing the hub sends is answered.
    const literal = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
    const path = Buffer.concat([Buffer.of(0x04), literal('/slow')]);
    const authority = Buffer.concat([Buffer.of(0x01), literal('hub')]);
    const headers = Buffer.concat([Buffer.of(0x82, 0x86), path, authority]);
    deaf.write(Buffer.concat([PREFACE, EMPTY_SETTINGS, frame(HEADERS, 5, 1, headers)]));
    const session = await server.openSession();
    const slow = getBy(session, '/slow');
    await until(() => server.asked === 2, 'both are running');
    await once(deaf, 'close');
    expect(session.destroyed).to.equal(false);
    server.release();
    expect(await slow).to.equal('2.0');
  });

  it('by HTTP/1 that does not read its response is closed', async () => {
    await start({ exchangeMs: 300 });
    const socket = await server.openSocket();
    socket.pause();
    socket.write('GET /large HTTP/1.1\r\nHost: hub\r\n\r\n');
    await until(async () => (await server.connections()) === 0, 'the connection is cut');
  });
});
