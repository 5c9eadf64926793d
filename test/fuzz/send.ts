// Sends an input unchanged, and returns the response.
import * as http from 'node:http';
import * as http2 from 'node:http2';
import { connect as openSocket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Input } from './inputs/input.ts';

export type Answer = {
  /** 0 if there was none, which is possible only for `bytes`. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the caller closed the stream after its first message. */
  readonly isCut: boolean;
};

export type Sender = {
  /** Rejects if the hub does not respond. */
  send(input: Input): Promise<Answer>;
  close(): void;
};

const TIMEOUT_MS = 20_000;

export function createSender(urls: Readonly<Record<Input['port'], string>>): Sender {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  let session: http2.ClientHttp2Session | undefined;
  const openSession = (url: string): http2.ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = http2.connect(url);
      session.on('error', () => {}); // its streams report the error
    }
    return session;
  };
  return {
    send(input) {
      const url = urls[input.port];
      if (input.protocol === 'bytes') return sendBytes(url, input.body);
      if (input.http !== 2) return sendHttp1(agent, url, input);
      // A session may close just before it is reused, and reports that the request did not start (RFC 9113
      // section 8.7).
      return sendHttp2(openSession(url), input).catch((error: Error) => {
        if (!/REFUSED_STREAM|ERR_HTTP2_GOAWAY_SESSION|GOAWAY/.test(`${error.message}`)) throw error;
        session?.destroy();
        return sendHttp2(openSession(url), input);
      });
    },
    close() {
      agent.destroy();
      session?.destroy();
    },
  };
}

function sendHttp1(agent: http.Agent, url: string, input: Input): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = input;
    const { hostname, port } = new URL(url);
    const isChunked = headers['transfer-encoding'] !== undefined;
    const lengths =
      isChunked || (body.length === 0 && method === 'GET') ? {} : { 'content-length': body.length };
    const request = http.request({
      agent,
      hostname,
      port,
      method,
      path,
      headers: { ...headers, ...lengths },
    });
    request.setTimeout(TIMEOUT_MS, () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close a connection just when it is reused: this is not an error (RFC 9112 section
      // 9.3.1).
      if (request.reusedSocket && error.code === 'ECONNRESET')
        sendHttp1(agent, url, input).then(resolve, reject);
      else reject(error);
    });
    request.on('response', (response) => {
      const done = (bytes: Buffer, isCut: boolean): void =>
        resolve({
          status: response.statusCode ?? 0,
          headers: plain(response.headers),
          trailers: plain(response.trailers),
          body: bytes,
          isCut,
        });
      if (isEndless(input)) {
        response.once('data', (chunk: Buffer) => {
          done(chunk, true);
          request.destroy();
        });
        response.once('end', () => done(Buffer.alloc(0), false)).on('error', () => {});
      } else buffer(response).then((bytes) => done(bytes, false), reject);
    });
    request.end(body);
  });
}

function sendHttp2(session: http2.ClientHttp2Session, input: Input): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = input;
    const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: false });
    let [status, got, trailers]: [number, Answer['headers'], Answer['trailers']] = [0, {}, {}];
    const chunks: Buffer[] = [];
    const done = (isCut: boolean): void =>
      resolve({ status, headers: got, trailers, body: Buffer.concat(chunks), isCut });
    stream.setTimeout(TIMEOUT_MS, () => stream.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    stream.on('response', ({ ':status': code, ...rest }) => {
      status = Number(code);
      got = plain(rest);
    });
    stream.on('trailers', (rest) => {
      trailers = plain(rest);
    });
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (!isEndless(input)) return;
      done(true);
      stream.close(http2.constants.NGHTTP2_CANCEL);
    });
    stream.on('end', () => done(false));
    // A response may come before the hub has read the body, and the hub may then refuse the rest.
    stream.on('error', (error) => (status === 0 ? reject(error) : done(false)));
    stream.on('close', () => reject(new Error('the stream was closed without an answer')));
    stream.end(body);
  });
}

const IDLE_MS = 25;

/**
 * Waits until no more data comes, then ends its side of the connection. The hub must then close the
 * connection.
 */
async function sendBytes(url: string, bytes: Uint8Array): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const socket = openSocket({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let isStuck = false;
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => socket.end());
  socket.on('error', () => {}); // a reset is also a response
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  socket.setTimeout(IDLE_MS, () => socket.end());
  const timeout = setTimeout(() => {
    isStuck = true;
    socket.destroy();
  }, TIMEOUT_MS);
  await closed;
  clearTimeout(timeout);
  if (isStuck) throw new Error(`the hub keeps a connection whose client has ended: ${Buffer.concat(chunks)}`);
  const body = Buffer.concat(chunks);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(body.toString('latin1'))?.[1] ?? 0);
  return { status, headers: {}, trailers: {}, body, isCut: false };
}

/** The caller ends streams of the server. */
function isEndless({ rpc }: Input): boolean {
  return rpc?.methodKind === 'server_streaming';
}

function plain(headers: http.IncomingHttpHeaders | http2.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
