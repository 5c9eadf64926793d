// One port for HTTP/1.1 (Connect, gRPC-Web, curl) and for HTTP/2 (gRPC), in plaintext with prior knowledge or by TLS.
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import * as tls from 'node:tls';
import { type ConnectionCap, MAX_CONNECTIONS } from '../../ports/connection-cap.ts';
import { createExchangeCap, type ExchangeCap } from '../../ports/exchange-cap.ts';
import { createExchangeWatch } from '../../ports/exchange-watch.ts';
import { LinkedList } from '../../ports/linked-list.ts';
import { createHttp2Sessions, HTTP2_LIMITS } from './http2-sessions.ts';
import type { TlsSource } from './tls.ts';
import { wellFormedOnly } from './well-formed.ts';

export type Handler = (
  request: http.IncomingMessage | http2.Http2ServerRequest,
  response: http.ServerResponse | http2.Http2ServerResponse,
) => void;

export type Listener = {
  /** The HTTP/1 server: listen on it and read its address. */
  readonly server: http.Server;
  /** Ends each connection after its next answer, by HTTP/2 after its last stream. Accepts and answers as before. */
  drain(): void;
  /** Stops accepting, lets what is under way finish for at most `graceMs`, then cuts the rest. */
  close(graceMs: number): Promise<void>;
};

export type ListenerOptions = {
  /** Connections that say nothing for so long are cut. */
  readonly peekTimeoutMs?: number;
  /** For a request by HTTP/2, for taking any answer, and for answering a ping. Default: 30000. */
  readonly exchangeMs?: number;
  /** Of answers that are not taken, in all. Default: 256 MiB. */
  readonly unreadBytes?: number;
  /** HTTP/2 connections that ask for nothing for so long are closed. Default: 60000. */
  readonly idleMs?: number;
  /** Without it, the port speaks plaintext. */
  readonly tls?: TlsSource | undefined;
  /** Connections beyond it are closed before a byte of theirs is read. */
  readonly admit?: ConnectionCap;
  /** Requests beyond it are cut before they are handled. */
  readonly admitExchange?: ExchangeCap;
};

export function createListener(handler: Handler, options: ListenerOptions = {}): Listener {
  const { peekTimeoutMs = 10_000, exchangeMs = 30_000, idleMs = 60_000 } = options;
  const { tls: source, admit = () => 0, admitExchange = createExchangeCap() } = options;
  /** By the address of the other end, which a connection keeps when TLS takes it over. */
  const open = new Map<string, net.Socket>();
  const speakHttp2 = new WeakSet<net.Socket>();
  const sessions = createHttp2Sessions({ idleMs, pingMs: exchangeMs });
  const exchanges = createExchangeWatch({
    requestMs: exchangeMs,
    answerMs: exchangeMs,
    ...(options.unreadBytes !== undefined && { unreadBytes: options.unreadBytes }),
  });
  const underWay = new LinkedList<http.ServerResponse>();
  let draining = false;

  const serve = wellFormedOnly((request, response) => {
    if (!admitExchange(request, response)) return;
    exchanges.begin(request, response);
    handler(request, response);
  });
  const http1 = http.createServer(HTTP1_LIMITS, (request, response) => {
    const link = underWay.add(response);
    response.once('close', () => underWay.remove(link));
    if (draining) endConnectionAfter(response);
    serve(request, response);
  });
  http1.maxHeadersCount = 100;
  const http2Server = http2.createServer(HTTP2_LIMITS, serve);
  http2Server.on('session', sessions.add);
  // A broken client is its own problem: node has destroyed the session already.
  http2Server.on('sessionError', () => {});

  // Take over from node's own handler until the first bytes tell which protocol the client speaks.
  const [serveHttp1] = http1.listeners('connection') as ((this: http.Server, socket: net.Socket) => void)[];
  http1.removeAllListeners('connection');
  const hold = (socket: net.Socket): void => {
    const peer = `${socket.remoteAddress} ${socket.remotePort}`;
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  };
  const accept = (socket: net.Socket): void => {
    hold(socket);
    peek(socket, peekTimeoutMs, (isHttp2) => {
      if (isHttp2) {
        speakHttp2.add(socket);
        // For HTTP/1 a client may have said all and still wait; an HTTP/2 client that has ended is gone.
        socket.allowHalfOpen = false;
        http2Server.emit('connection', socket);
      } else serveHttp1?.call(http1, socket);
    });
  };
  const secure = source && createTlsLayer(source, peekTimeoutMs, accept);
  http1.maxConnections = MAX_CONNECTIONS;
  http1.on('connection', (socket: net.Socket) => {
    if (admit(socket) > 0) {
      socket.destroy();
      return;
    }
    if (secure === undefined) return accept(socket);
    hold(socket);
    secure.emit('connection', socket);
  });

  const drain = (): void => {
    draining = true;
    sessions.close();
    for (const response of underWay) endConnectionAfter(response);
  };

  return {
    server: http1,
    drain,
    async close(graceMs) {
      // Not http.Server's own close yet: it cuts answers that are complete but not sent to the last byte.
      const closed = new Promise<void>((resolve) => net.Server.prototype.close.call(http1, () => resolve()));
      drain();
      const busy = new Set([...underWay].map((response) => response.req.socket));
      for (const socket of open.values()) if (!busy.has(socket) && !speakHttp2.has(socket)) socket.destroy();
      // Whatever is left, in whatever state: also a peer that does not close its side.
      const timer = setTimeout(() => {
        for (const socket of open.values()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
      exchanges.stop();
      http1.close(); // stops its timers
    },
  };
}

/** A TLS server that does not listen: it is handed connections, and hands on those that have come to terms. */
function createTlsLayer(
  source: TlsSource,
  handshakeTimeout: number,
  accept: (socket: net.Socket) => void,
): tls.Server {
  const server = tls.createServer(
    {
      ...source.current(),
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: 'TLSv1.2',
      handshakeTimeout,
      // A client without a certificate may have a token; whether one is accepted is told to the services.
      requestCert: source.asksClients,
      rejectUnauthorized: false,
    },
    accept,
  );
  source.onChange((certificates) => server.setSecureContext(certificates));
  return server;
}

const HTTP1_LIMITS: http.ServerOptions = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  // The whole request: the largest message may come at 35 kB a second.
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  insecureHTTPParser: false,
  // A missing Host is refused with everything else that is not well-formed.
  requireHostHeader: false,
};

function endConnectionAfter(response: http.ServerResponse): void {
  const { socket } = response.req;
  response.shouldKeepAlive = false; // the headers say so, unless they are sent
  response.once('finish', () => socket.destroySoon());
}

// What an HTTP/2 client with prior knowledge sends first (RFC 9113, section 3.4).
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Looks at the first bytes, puts them back and tells; a connection that ends or is silent before that is cut. */
function peek(socket: net.Socket, timeoutMs: number, decide: (isHttp2: boolean) => void): void {
  const cut = (): void => {
    socket.destroy();
  };
  const timer = setTimeout(cut, timeoutMs);
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('readable', read).off('error', cut).off('end', cut).off('close', settle);
  };
  let seen: Buffer = Buffer.alloc(0);
  const read = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, PREFACE.length);
    const isHttp2 = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
    if (isHttp2 && length < PREFACE.length) return;
    settle();
    socket.unshift(seen);
    decide(isHttp2);
  };
  socket.on('readable', read).on('error', cut).on('end', cut).on('close', settle);
}

/**
 * Listens, or rejects with an Error that names the address and what to do. Port 0 takes any free port.
 * `setting` is what chooses the port.
 */
export function listen(server: net.Server, port: number, host: string, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken =
        error.code === 'EADDRINUSE'
          ? `the port is taken: stop what uses it, or choose another with ${setting} (0 takes any free one)`
          : error.message;
      reject(new Error(`cannot listen on ${host}:${port}: ${taken}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/** Where this machine reaches a server that listens. */
export function urlOf(server: net.Server, scheme: 'http' | 'https' = 'http'): string {
  const { address, port } = server.address() as net.AddressInfo; // it listens on TCP
  if (address === '0.0.0.0' || address === '::') return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
