// One port for HTTP/1.1 (Connect, gRPC-Web, curl) and HTTP/2 (gRPC), in plaintext with prior knowledge or
// with TLS.
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';
import * as tls from 'node:tls';
import {
  type ConnectionCap,
  createRequestCap,
  createSlowClientWatchdog,
  MAX_CONNECTIONS,
  type RequestCap,
} from '../../../lib/net/client-limits.ts';
import type { Handler } from './handler.ts';
import { createHttp2Sessions, HTTP2_LIMITS } from './http2-sessions.ts';
import { createIsUpload, keepRequestsOpen } from './long-uploads.ts';
import type { TlsSource } from './tls.ts';
import { wellFormedOnly } from './well-formed.ts';

export type Listener = {
  /** The HTTP/1 server: listen on it and read its address. */
  readonly server: http.Server;
  /**
   * Closes each connection after its next response, with HTTP/2 after its last stream. Still accepts
   * connections.
   */
  drain(): void;
  /** Stops accepting, waits at most `graceMs` for requests in progress, then closes all connections. */
  close(graceMs: number): Promise<void>;
};

export type ListenerOptions = {
  /** Time in which a connection has to send its first bytes. Default: 10000. */
  readonly peekTimeoutMs?: number;
  /** Time to send an HTTP/2 request, to read a response, and to reply to a ping. Default: 30000. */
  readonly exchangeMs?: number;
  /** Limit of bytes in responses that clients have not read, in total. Default: 256 MiB. */
  readonly unreadBytes?: number;
  /** HTTP/2 connections without requests are closed after this time. Default: 60000. */
  readonly idleMs?: number;
  /** Without it, the port speaks plaintext. */
  readonly tls?: TlsSource | undefined;
  /** Connections beyond it are closed before anything is read from them. */
  readonly admit?: ConnectionCap;
  /**
   * Paths of requests that may take longer to send than others, because the handler reads them while it
   * works. It limits their time itself.
   */
  readonly uploads?: ReadonlySet<string>;
  /** Requests beyond it are aborted before they are handled. */
  readonly admitExchange?: RequestCap;
};

export function createListener(handler: Handler, options: ListenerOptions = {}): Listener {
  const { peekTimeoutMs = 10_000, exchangeMs = 30_000, idleMs = 60_000 } = options;
  const { tls: source, admit = () => 0, admitExchange = createRequestCap() } = options;
  const isUpload = createIsUpload(options.uploads);
  /** By peer address, which stays the same when TLS takes over the connection. */
  const open = new Map<string, net.Socket>();
  const speakHttp2 = new WeakSet<net.Socket>();
  const sessions = createHttp2Sessions({ idleMs, pingMs: exchangeMs });
  const exchanges = createSlowClientWatchdog({
    requestMs: exchangeMs,
    answerMs: exchangeMs,
    ...(options.unreadBytes !== undefined && { unreadBytes: options.unreadBytes }),
    isUnlimited: isUpload,
  });
  let draining = false;

  const serve = wellFormedOnly((request, response) => {
    if (admitExchange(request, response)) handler(request, response);
  });
  const http1 = http.createServer(HTTP1_LIMITS, (request, response) => {
    exchanges.begin(request, response);
    if (isUpload(request)) holdOpen(request.socket, response);
    if (draining) endConnectionAfter(response);
    serve(request, response);
  });
  http1.maxHeadersCount = 100;
  const holdOpen = keepRequestsOpen(http1);
  const http2Server = http2.createServer(HTTP2_LIMITS, (request, response) => {
    exchanges.begin(request, response);
    serve(request, response);
  });
  http2Server.on('session', sessions.add);
  // Node has destroyed the session already.
  http2Server.on('sessionError', () => {});

  // Replaces Node's own handler until the first bytes show which protocol the client speaks.
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
        // An HTTP/1 client may end its side and wait for the response; an HTTP/2 client that ends its side is
        // gone.
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

  const http1Responses = () =>
    exchanges.responses().filter((response): response is http.ServerResponse => !('stream' in response));
  const drain = (): void => {
    draining = true;
    sessions.close();
    for (const response of http1Responses()) endConnectionAfter(response);
  };

  return {
    server: http1,
    drain,
    async close(graceMs) {
      // http.Server's own close would cut responses that are complete but not fully sent.
      const closed = new Promise<void>((resolve) => net.Server.prototype.close.call(http1, () => resolve()));
      drain();
      const busy = new Set(http1Responses().map((response) => response.req.socket));
      for (const socket of open.values()) if (!busy.has(socket) && !speakHttp2.has(socket)) socket.destroy();
      // Also connections whose peer does not close its side.
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

/** A TLS server that does not listen: it gets connections, and passes them on after the handshake. */
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
      // A client without a certificate may have a token. The services check both.
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
  // HTTP/1.1 has no pings: without probes, a silent stream of a client that vanished would stay open.
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  headersTimeout: 10_000,
  // For the whole request: the largest message may arrive at 35 kB/s.
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  insecureHTTPParser: false,
  // wellFormedOnly rejects a missing Host.
  requireHostHeader: false,
};

function endConnectionAfter(response: http.ServerResponse): void {
  const { socket } = response.req;
  response.shouldKeepAlive = false; // the headers say so, unless they are sent
  response.once('finish', () => socket.destroySoon());
}

// What an HTTP/2 client with prior knowledge sends first (RFC 9113, section 3.4).
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Reads the first bytes, puts them back and calls `decide`. Closes a connection that ends or sends nothing.
 */
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
 * Rejects with an Error that names the address and the remedy. Port 0 takes any free port. `setting` names
 * the setting of the port.
 */
export function listen(server: net.Server, port: number, host: string, setting: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken =
        error.code === 'EADDRINUSE'
          ? `the port is in use: stop the program that uses it, or choose another with ${setting} ` +
            '(0 takes any free port)'
          : error.message;
      reject(new Error(`cannot listen on ${host}:${port}: ${taken}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/** The URL of a listening server, for clients on this machine. */
export function urlOf(server: net.Server, scheme: 'http' | 'https' = 'http'): string {
  const { address, port } = server.address() as net.AddressInfo; // it listens on TCP
  if (address === '0.0.0.0' || address === '::') return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
