// Opens a stream to one address of a PostgreSQL server, with TLS or in plaintext, before the PostgreSQL
// protocol starts.
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { codeOf, messageOf } from '../../../lib/caught-error.ts';
import type { ConnectionTarget, Server } from './connection-string.ts';
import { isSocket } from './connection-string.ts';
import { tlsOptions } from './tls-options.ts';

export type TransportOptions = {
  readonly target: ConnectionTarget;
  readonly server: Server;
  /** The IP address of the server, if it is not a socket. */
  readonly address: string;
  /** `require`: only with TLS; `prefer`: in plaintext if the server has no TLS. */
  readonly tls: 'no' | 'prefer' | 'require';
  readonly signal: AbortSignal;
};

export type Transport = { readonly stream: Socket | TLSSocket; readonly encrypted: boolean };

/** TLS could not be set up; libpq's `prefer` tries again without it. */
export class TlsFailed extends Error {
  override readonly name = 'TlsFailed';
}

/** The server closed the connection, as a proxy without a server does. A retry may help. */
class ClosedByServer extends Error {
  override readonly name = 'ClosedByServer';
  readonly code = 'ECONNRESET';
}

/** Nothing listens at the address, or the name is unknown. The next address is tried. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
  readonly code: string | undefined;

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    // A server removes its socket file when it stops.
    this.code = cause.code === 'ENOENT' ? 'ECONNREFUSED' : cause.code;
  }
}

/** @throws Unreachable; TlsFailed; Error */
export async function openTransport(options: TransportOptions): Promise<Transport> {
  const { target, server, tls, signal } = options;
  const socket = await connectSocket(options);
  try {
    if (tls === 'no' || isSocket(server.host)) return { stream: socket, encrypted: false };
    if (target.parameters.sslnegotiation !== 'direct' && !(await offersTls(socket, signal))) {
      if (tls === 'prefer') return { stream: socket, encrypted: false };
      throw new Error(
        `the server does not support SSL, and sslmode=${target.sslMode} asks for it: ` +
          'turn ssl on at the server, or change sslmode in DATABASE_URL',
      );
    }
    return { stream: await encrypt(socket, options), encrypted: true };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function connectSocket({ target, server, address, signal }: TransportOptions): Promise<Socket> {
  const { keepAlive, keepAliveIdleMs } = target;
  const { host, port } = server;
  const socket = isSocket(host)
    ? createConnection(`${host.replace(/^@/, '\0')}/.s.PGSQL.${port}`)
    : createConnection({
        host: address,
        port,
        noDelay: true,
        keepAlive,
        keepAliveInitialDelay: keepAliveIdleMs,
      });
  try {
    await once(socket, 'connect', { signal });
    socket.on('error', () => {}); // the next read reports it
    return socket;
  } catch (error) {
    socket.on('error', () => {}).destroy();
    throw signal.aborted ? signal.reason : new Unreachable(error as Error); // 'error' events carry an Error
  }
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

async function offersTls(socket: Socket, signal: AbortSignal): Promise<boolean> {
  socket.write(SSL_REQUEST);
  const answer = await firstBytes(socket, signal);
  const [code] = answer.toString('latin1');
  // Bytes after the answer were not encrypted, and an attacker may have sent them.
  if (answer.length > 1 && code !== 'E') throw new Error('the server sent data before TLS was set up');
  if (code === 'S') return true;
  if (code === 'N') return false;
  throw new Error('the server did not answer the request for TLS');
}

async function firstBytes(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  const ended = new AbortController();
  socket.once('close', () => ended.abort(new ClosedByServer('the server closed the connection')));
  try {
    const [bytes] = await once(socket, 'data', { signal: AbortSignal.any([signal, ended.signal]) });
    return bytes;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw ended.signal.aborted ? ended.signal.reason : error;
  }
}

async function encrypt(socket: Socket, { target, server, signal }: TransportOptions): Promise<TLSSocket> {
  // An unreadable file is an error even with `prefer`.
  const options = await tlsOptions(target, server.host);
  try {
    const stream = connectTls({ ...options, socket });
    try {
      await once(stream, 'secureConnect', { signal });
    } catch (error) {
      stream.on('error', () => {}).destroy();
      throw error;
    }
    return stream;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = messageOf(error);
    throw new TlsFailed(`TLS with ${server.host}: ${reason}${remedyFor(error)}`, { cause: error });
  }
}

const UNTRUSTED = new RegExp(
  `^(${[
    'SELF_SIGNED_CERT',
    'DEPTH_ZERO_SELF_SIGNED',
    'UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)',
    'CERT_UNTRUSTED',
    'CERT_SIGNATURE',
  ].join('|')})`,
);

function remedyFor(error: unknown): string {
  const code = codeOf(error) ?? '';
  if (UNTRUSTED.test(code)) return ': give the certificate of its CA as sslrootcert in DATABASE_URL';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return ': correct the host in DATABASE_URL, or use sslmode=verify-ca';
  return '';
}
