// Limits of one client: its requests in flight, its open connections, and how slowly it may send and read.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { clientKey } from './proxies.ts';
import { throttle } from './throttle-log.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** Pipelined requests of an HTTP/1.1 connection. HTTP/2 has its own limit. */
const PER_HTTP1_CONNECTION = 2_000;
/** A request in flight costs 10 to 50 KB, also while its response waits for a client that does not read. */
const PER_CLIENT = 4_096;

/**
 * Returns whether a request may be served. Beyond the limit it resets the HTTP/2 stream with REFUSED_STREAM,
 * which permits a retry, or closes the HTTP/1.1 connection.
 */
export type RequestCap = (request: Request, response: Response) => boolean;

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

export type ConnectionCapOptions = Pick<RequestCapOptions, 'isExempt'> & {
  /** Connections per client (IPv4 address or IPv6 /64 network); 0: unlimited. */
  readonly perClient: number;
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
  const open = new Quota<string>(perClient);
  const warn = throttle(QUIET_MS, (client: string) => {
    logger.warn({ client, cap: perClient }, 'connections beyond HUB_CONNECTIONS_PER_CLIENT are refused');
  });
  return (socket) => {
    const { remoteAddress = '' } = socket;
    if (perClient === 0 || isExempt(remoteAddress)) return 0;
    const client = clientKey(remoteAddress);
    open.take(client);
    socket.once('close', () => open.release(client));
    const excess = Math.max(0, open.used(client) - perClient);
    if (excess > 0) warn(client);
    return excess;
  };
}

/** A quota removes its unused keys when there are this many more of them than used keys. */
const UNUSED_KEYS = 256;

/**
 * Counts concurrent use of a resource per key, up to a limit.
 *
 * A key that is no longer used stays for a while. V8 allocates a new table for a Map after some deletions, in old space
 * if the Map is there. So keys that come and go with each request would cause major collections.
 */
export class Quota<K> {
  readonly #max: number;
  /** Of keys that are objects, such as sockets. An entry ends with its object. */
  readonly #usedByObject = new WeakMap<object, number>();
  #used = new Map<K, number>();
  /** The number of keys in `#used` that are in use. */
  #inUse = 0;

  constructor(max: number) {
    this.#max = max;
  }

  used(key: K): number {
    return (canBeWeakKey(key) ? this.#usedByObject.get(key) : this.#used.get(key)) ?? 0;
  }

  hasRoom(key: K, amount = 1): boolean {
    return this.used(key) + amount <= this.#max;
  }

  /** Also takes beyond the limit: to stay within it, check `hasRoom` first. Later, release the same amount. */
  take(key: K, amount = 1): void {
    this.#change(key, amount);
  }

  release(key: K, amount = 1): void {
    this.#change(key, -amount);
  }

  #change(key: K, amount: number): void {
    const before = this.used(key);
    const after = Math.max(0, before + amount);
    if (after === before) return;
    if (canBeWeakKey(key)) {
      this.#usedByObject.set(key, after);
      return;
    }
    this.#used.set(key, after);
    this.#inUse += Number(after > 0) - Number(before > 0);
    if (this.#used.size > 2 * this.#inUse + UNUSED_KEYS) this.#removeUnused();
  }

  #removeUnused(): void {
    this.#used = new Map([...this.#used].filter(([, used]) => used > 0));
  }
}

function canBeWeakKey(key: unknown): key is object {
  return typeof key === 'object' && key !== null;
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

export type SlowClientWatchdog<R extends Response = Response> = {
  /** Watches a request until its response closes. */
  begin(request: Request, response: R): void;
  /** Calls `listener` whenever no response is watched, and at once if none is. */
  onIdle(listener: () => void): void;
  /** Watched responses in order of arrival. */
  responses(): R[];
  stop(): void;
};

export type ExchangeLimits = {
  /** Time for a whole HTTP/2 request. For HTTP/1 Node's `requestTimeout` applies. */
  readonly requestMs: number;
  /** Time for a client to read what is ready of its response. */
  readonly answerMs: number;
  /** Unread bytes of all responses. Beyond it the largest are cut. Default: 256 MiB. */
  readonly unreadBytes?: number;
  /** Whether a request may take longer than `requestMs`. Default: none. */
  readonly isUnlimited?: (request: Request) => boolean;
};

const UNREAD_BYTES = 256 * 1024 * 1024;

type Watched<R> = {
  readonly response: R;
  readonly request: Request;
  readonly begunAt: number;
  /** When the client was first seen with unread response bytes. */
  unreadSince: number | undefined;
};

const CHECKS_PER_LIMIT = 10;

/** One timer for all requests: a timer each would cost more than most requests do. */
export function createSlowClientWatchdog<R extends Response = Response>({
  requestMs,
  answerMs,
  unreadBytes = UNREAD_BYTES,
  isUnlimited = () => false,
}: ExchangeLimits): SlowClientWatchdog<R> {
  const watchedRequests = new LinkedList<Watched<R>>();
  let onIdle: (() => void) | undefined;
  const checkAll = (): void => {
    const now = performance.now();
    for (const watched of watchedRequests) {
      const { response } = watched;
      const isUnread = response.writableEnded || response.writableLength > 0;
      watched.unreadSince = isUnread ? (watched.unreadSince ?? now) : undefined;
      const isSlowReader = now - (watched.unreadSince ?? now) >= answerMs;
      if (isSlowReader || isSlowWriter(watched, now)) cut(response);
    }
    cutLargest(responsesOf(watchedRequests), unreadBytes);
  };
  // Not `complete`: without a body it is only set once the request is read.
  const isSlowWriter = ({ request, begunAt }: Watched<R>, now: number): boolean =>
    'stream' in request &&
    now - begunAt >= requestMs &&
    request.stream.state.remoteClose !== 1 &&
    !isUnlimited(request);
  const timer = setInterval(checkAll, Math.ceil(Math.min(requestMs, answerMs) / CHECKS_PER_LIMIT));
  timer.unref();
  return {
    begin(request, response) {
      const begunAt = performance.now();
      const link = watchedRequests.add({ response, request, begunAt, unreadSince: undefined });
      response.on('close', () => {
        watchedRequests.remove(link);
        if (watchedRequests.size === 0) onIdle?.();
      });
    },
    onIdle(listener) {
      onIdle = listener;
      if (watchedRequests.size === 0) listener();
    },
    responses: () => responsesOf(watchedRequests),
    stop: () => clearInterval(timer),
  };
}

function responsesOf<R>(watched: Iterable<Watched<R>>): R[] {
  return Array.from(watched, ({ response }) => response);
}

/** Cuts the responses with the most unread bytes until at most `most` bytes are unread in total. */
function cutLargest(responses: readonly Response[], most: number): void {
  let unread = responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
  if (unread <= most) return;
  for (const response of responses.toSorted((one, other) => other.writableLength - one.writableLength)) {
    if (unread <= most) return;
    unread -= response.writableLength;
    cut(response);
  }
}

/** An HTTP/2 connection stays open for its other streams. */
function cut(response: Response): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.socket?.destroy();
}

/**
 * A doubly linked list of requests in flight, in order of arrival.
 *
 * Use it instead of a Set for entries that come and go thousands of times a second. V8 allocates a new table for a Set
 * after some deletions, and the old table refers to the new one. Once a table is in old space, all entries added later
 * stay alive until the next major collection. Measured with 64 requests in flight (median of 10 rounds): a Set
 * doubles both the CPU time of adding and removing a request (12 µs, 6 µs with this list) and the heap (400 MB, 217 MB).
 */
export class LinkedList<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Link<T> | undefined {
    return this.#first;
  }

  /** Returns the link to pass to `remove`. */
  add(value: T): Link<T> {
    const link: Link<T> = { value, previous: this.#last, next: undefined, isIn: true };
    if (this.#last === undefined) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Does nothing if the link was removed before. */
  remove(link: Link<T>): void {
    if (!link.isIn) return;
    const { previous, next } = link;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // A removed link must not keep its neighbors alive.
    link.previous = undefined;
    link.next = undefined;
    link.isIn = false;
    this.#size -= 1;
  }

  /** The loop may remove the current value, and no other. */
  *[Symbol.iterator](): Generator<T> {
    let link = this.#first;
    while (link !== undefined) {
      const { value, next } = link;
      yield value;
      link = next;
    }
  }
}

export type Link<T> = {
  readonly value: T;
  previous: Link<T> | undefined;
  next: Link<T> | undefined;
  isIn: boolean;
};
