// A listener with a simple handler, and the clients that tests talk to it with.
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import { promisify } from 'node:util';
import {
  createListener,
  type Listener,
  type ListenerOptions,
  listen,
  urlOf,
} from '../../../../core/rpc/server/listener.ts';

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
export const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
export const LARGE = Buffer.alloc(16 * 1024 * 1024, 'x');
const BODIES: { readonly [path: string]: Buffer } = {
  '/large': LARGE,
  '/medium': LARGE.subarray(0, 1024 * 1024),
};

/** Answers `/slow` once it is released, `/large` and `/medium` with as much, and all else at once; each names the HTTP version. */
export class TestListener {
  readonly listener: Listener;
  /** Requests that have reached the handler. */
  asked = 0;
  readonly #held = Promise.withResolvers<void>();
  readonly #leftovers: (() => void)[] = [];

  constructor(options: ListenerOptions = {}) {
    this.listener = createListener(
      async (request, response: http.ServerResponse | http2.Http2ServerResponse) => {
        this.asked++;
        if (request.url === '/slow') await this.#held.promise;
        response.setHeader('x-http-version', request.httpVersion);
        response.end(BODIES[request.url ?? ''] ?? 'ok');
      },
      options,
    );
  }

  static async start(options: ListenerOptions = {}): Promise<TestListener> {
    const started = new TestListener(options);
    await listen(started.listener.server, 0, '127.0.0.1', 'a port');
    return started;
  }

  get port(): number {
    return Number(new URL(urlOf(this.listener.server)).port);
  }

  /** How many are open. */
  connections(): Promise<number> {
    return promisify(this.listener.server.getConnections.bind(this.listener.server))();
  }

  release(): void {
    this.#held.resolve();
  }

  /** Drops the clients, closes the listener. */
  async stop(): Promise<void> {
    this.release();
    this.dropClients();
    await this.listener.close(0);
  }

  dropClients(): void {
    for (const drop of this.#leftovers.splice(0)) drop();
  }

  /** A GET on a connection of its own, which the client keeps alive; the HTTP version of the answer. */
  async get(path: string): Promise<unknown> {
    const agent = new http.Agent({ keepAlive: true });
    this.#leftovers.push(() => agent.destroy());
    const [response]: http.IncomingMessage[] = await once(
      http.get({ agent, port: this.port, path }),
      'response',
    );
    response?.resume();
    if (response) await once(response, 'end');
    return response?.headers['x-http-version'];
  }

  async openSession(): Promise<http2.ClientHttp2Session> {
    const session = http2.connect(`http://127.0.0.1:${this.port}`);
    this.#leftovers.push(() => session.destroy());
    session.on('error', () => {}); // a cut session fails its requests, which tell
    await once(session, 'connect');
    return session;
  }

  async openSocket(options: { allowHalfOpen?: boolean } = {}): Promise<net.Socket> {
    const socket = net.connect({ port: this.port, host: '127.0.0.1', noDelay: true, ...options });
    this.#leftovers.push(() => socket.destroy());
    socket.on('error', () => {}); // a reset ends the connection as well as a close
    await once(socket, 'connect');
    socket.resume();
    return socket;
  }
}

/** A GET on a session; the HTTP version of the answer. Rejects if the stream ends without one. */
export async function getBy(session: http2.ClientHttp2Session, path: string): Promise<unknown> {
  const stream = session.request({ ':path': path });
  let version: unknown;
  stream.on('response', (headers) => {
    version = headers['x-http-version'];
  });
  stream.resume();
  await once(stream, 'close');
  if (version === undefined) throw new Error('the stream was closed without an answer');
  return version;
}

/** Writes, and lets the peer read it before the next write. */
export async function write(socket: net.Socket, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.write(data, () => setImmediate(resolve));
  });
}
