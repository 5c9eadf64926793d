// One plaintext port for HTTP/1.1 (Connect, gRPC-Web, curl) and for HTTP/2 with prior knowledge (gRPC).
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as net from 'node:net';

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

/** Connections that say nothing for `peekTimeoutMs` are cut. */
export function createListener(handler: Handler, { peekTimeoutMs = 10_000 } = {}): Listener {
  const open = new Set<net.Socket>();
  const speakHttp2 = new WeakSet<net.Socket>();
  const sessions = new Set<http2.ServerHttp2Session>();
  const underWay = new Set<http.ServerResponse>();
  let closing = false;

  const http1 = http.createServer((request, response) => {
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    if (closing) endConnectionAfter(response);
    handler(request, response);
  });
  const http2Server = http2.createServer(handler);
  http2Server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  // A broken client is its own problem: node has destroyed the session already.
  http2Server.on('sessionError', () => {});

  // Take over from node's own handler until the first bytes tell which protocol the client speaks.
  const [serveHttp1] = http1.listeners('connection') as ((this: http.Server, socket: net.Socket) => void)[];
  http1.removeAllListeners('connection');
  http1.on('connection', (socket: net.Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    peek(socket, peekTimeoutMs, (isHttp2) => {
      if (isHttp2) {
        speakHttp2.add(socket);
        http2Server.emit('connection', socket);
      } else serveHttp1?.call(http1, socket);
    });
  });

  return {
    server: http1,
    async close(graceMs) {
      closing = true;
      // Not http.Server's own close yet: it cuts answers that are complete but not sent to the last byte.
      const closed = new Promise<void>((resolve) => net.Server.prototype.close.call(http1, () => resolve()));
      for (const session of sessions) session.close();
      const busy = new Set([...underWay].map((response) => response.req.socket));
      for (const socket of open) if (!busy.has(socket) && !speakHttp2.has(socket)) socket.destroy();
      for (const response of underWay) endConnectionAfter(response);
      // Whatever is left, in whatever state: also a peer that does not close its side.
      const timer = setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
      http1.close(); // stops its timers
    },
  };
}

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
export function urlOf(server: net.Server): string {
  const { address, port } = server.address() as net.AddressInfo; // it listens on TCP
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
