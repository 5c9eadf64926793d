// One plaintext port for HTTP/1.1 (Connect, gRPC-Web, curl) and for HTTP/2 with prior knowledge (gRPC).
import * as http from 'node:http';
import * as http2 from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';

export type Handler = (
  request: http.IncomingMessage | http2.Http2ServerRequest,
  response: http.ServerResponse | http2.Http2ServerResponse,
) => void;

export type Listener = {
  /** The HTTP/1 server: listen on it and read its address. */
  readonly server: http.Server;
  /** Stops accepting, lets what is under way finish for at most `graceMs`, then cuts the rest. */
  close(graceMs: number): Promise<void>;
};

// What an HTTP/2 client with prior knowledge sends first (RFC 9113, section 3.4).
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Connections that say nothing for `peekTimeoutMs` are cut. */
export function createListener(handler: Handler, { peekTimeoutMs = 10_000 } = {}): Listener {
  const http1 = http.createServer(handler);
  const http2Server = http2.createServer(handler);
  const sessions = new Set<http2.ServerHttp2Session>();
  const undecided = new Set<Socket>();

  http2Server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  // A broken client is its own problem: node has destroyed the session already.
  http2Server.on('sessionError', () => {});

  // Take over from node's own handler until the first bytes tell which protocol the client speaks.
  const [serveHttp1] = http1.listeners('connection') as ((this: http.Server, socket: Socket) => void)[];
  http1.removeAllListeners('connection');
  http1.on('connection', (socket: Socket) => {
    undecided.add(socket);
    const timer = setTimeout(() => socket.destroy(), peekTimeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      undecided.delete(socket);
      socket.off('readable', peek).off('error', drop).off('end', drop).off('close', settle);
    };
    const drop = (): void => {
      settle();
      socket.destroy();
    };
    let seen: Buffer = Buffer.alloc(0);
    const peek = (): void => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const length = Math.min(seen.length, PREFACE.length);
      const isHttp2 = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
      if (isHttp2 && length < PREFACE.length) return;
      settle();
      socket.unshift(seen);
      if (isHttp2) http2Server.emit('connection', socket);
      else serveHttp1?.call(http1, socket);
    };
    socket.on('readable', peek).on('error', drop).on('end', drop).on('close', settle);
  });

  return {
    server: http1,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => http1.close(() => resolve()));
      for (const socket of undecided) socket.destroy();
      for (const session of sessions) session.close();
      const timer = setTimeout(() => {
        http1.closeAllConnections();
        for (const session of sessions) session.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Listens, or rejects with an Error that names the address and what to do. Port 0 takes any free port. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken =
        error.code === 'EADDRINUSE'
          ? 'the port is taken: stop what uses it, or choose another'
          : error.message;
      reject(new Error(`cannot listen on ${host}:${port}: ${taken}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/** Where this machine reaches a server that listens. */
export function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo; // it listens on TCP
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
