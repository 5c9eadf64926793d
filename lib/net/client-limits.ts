// Limits of one client: its requests in flight and its open connections.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net';
import type { Logger } from 'pino';
import { throttle } from './throttle.ts';

/**
 * Identifies a client for limits, by its address or the one a proxy forwards.
 * Returns an IPv4 address, or the /64 network of an IPv6 address, which belongs to one subscriber. Returns
 * other text unchanged.
 */
export function clientKey(address: string): string {
  const ip = normalAddress(address) ?? address;
  if (isIPv4(ip) || !ip.includes(':')) return ip;
  const [left = '', right] = ip.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right ? right.split(':') : [];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4).join(':');
}

/**
 * Returns the canonical form of an address, an IPv4-mapped IPv6 address as IPv4; undefined if it is not an
 * address.
 */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const zone = text.indexOf('%');
  const bare = zone === -1 ? text : text.slice(0, zone);
  const { address } = new SocketAddress({ address: bare, family: 'ipv6' });
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIPv4(mapped) ? mapped : address;
}

/** Pipelined requests of an HTTP/1.1 connection. HTTP/2 has its own limit. */
const PER_HTTP1_CONNECTION = 2_000;
/** A request in flight costs 10 to 50 KB, also while its response waits for a client that does not read. */
const PER_CLIENT = 4_096;

/**
 * Returns whether a request may be served. Beyond the limit it resets the HTTP/2 stream with REFUSED_STREAM,
 * which permits a retry, or closes the HTTP/1.1 connection.
 */
export type RequestCap = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => boolean;

export type RequestCapOptions = {
  /** Whether an address belongs to a proxy, which stands for many clients. */
  readonly isExempt?: (address: string) => boolean;
  readonly perHttp1Connection?: number;
  readonly perClient?: number;
};

export function createRequestCap({
  isExempt = () => false,
  perHttp1Connection = PER_HTTP1_CONNECTION,
  perClient = PER_CLIENT,
}: RequestCapOptions = {}): RequestCap {
  const connections = new Quota<unknown>(perHttp1Connection);
  const clients = new Quota<unknown>(perClient);
  return (request, response) => {
    const { remoteAddress = '' } = request.socket;
    const uses = [
      ...('stream' in response ? [] : [{ quota: connections, key: request.socket }]),
      ...(isExempt(remoteAddress) ? [] : [{ quota: clients, key: clientKey(remoteAddress) }]),
    ];
    if (takeAll(uses) === undefined) {
      response.once('close', () => releaseAll(uses));
      return true;
    }
    if ('stream' in response) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else request.socket.destroy();
    return false;
  };
}

export type ConnectionCapOptions = {
  /** Connections per client (IPv4 address or IPv6 /64 network); 0: unlimited. */
  readonly perClient: number;
  /** Whether an address belongs to a proxy, which stands for many clients. */
  readonly isExempt?: (address: string) => boolean;
  /** Called, throttled, when connections are refused. */
  readonly logger: Logger;
};

/** Counts a connection until it closes. Returns by how many its client exceeds the cap, 0 if within. */
export type ConnectionCap = (socket: Socket) => number;

/** Maximum of all clients, idle connections included. The server closes further ones at once. */
export const MAX_CONNECTIONS = 10_000;

const QUIET_MS = 60_000;

export function createConnectionCap(options: ConnectionCapOptions): ConnectionCap {
  const { perClient, isExempt = () => false, logger } = options;
  const open = new Map<string, number>();
  const warn = throttle(QUIET_MS, (client: string) => {
    logger.warn({ client, cap: perClient }, 'connections beyond HUB_CONNECTIONS_PER_CLIENT are refused');
  });
  return (socket) => {
    const { remoteAddress = '' } = socket;
    if (perClient === 0 || isExempt(remoteAddress)) return 0;
    const client = clientKey(remoteAddress);
    const count = (open.get(client) ?? 0) + 1;
    open.set(client, count);
    socket.once('close', () => {
      const left = (open.get(client) ?? 0) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    });
    if (count > perClient) warn(client);
    return Math.max(0, count - perClient);
  };
}

/** Counts concurrent use of a resource per key, up to a limit. */
export class Quota<K> {
  readonly #used = new Map<K, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  used(key: K): number {
    return this.#used.get(key) ?? 0;
  }

  hasRoom(key: K, amount = 1): boolean {
    return this.used(key) + amount <= this.#max;
  }

  /** The caller checks `hasRoom` first and later releases the same amount. */
  take(key: K, amount = 1): void {
    this.#used.set(key, this.used(key) + amount);
  }

  release(key: K, amount = 1): void {
    const left = this.used(key) - amount;
    if (left > 0) this.#used.set(key, left);
    else this.#used.delete(key);
  }
}

/** A quota and the key that uses it. */
export type QuotaUse = { readonly quota: Quota<unknown>; readonly key: unknown };

/**
 * Takes one unit of each quota, or of none. Returns the first use whose quota is full; undefined on success.
 */
export function takeAll(uses: readonly QuotaUse[]): QuotaUse | undefined {
  const full = uses.find(({ quota, key }) => !quota.hasRoom(key));
  if (full !== undefined) return full;
  for (const { quota, key } of uses) quota.take(key);
  return undefined;
}

export function releaseAll(uses: readonly QuotaUse[]): void {
  for (const { quota, key } of uses) quota.release(key);
}
