// Closes requests and responses of clients that send or read too slowly.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { LinkedList } from './linked-list.ts';

type Response = ServerResponse | Http2ServerResponse;

export type SlowClientWatchdog<R extends Response = Response> = {
  /** Watches a request until its response closes. */
  begin(request: IncomingMessage | Http2ServerRequest, response: R): void;
  /** Number of watched responses. */
  readonly size: number;
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
};

const UNREAD_BYTES = 256 * 1024 * 1024;

type Watched<R> = {
  readonly response: R;
  readonly request: IncomingMessage | Http2ServerRequest;
  readonly begunAt: number;
  /** When the client was first seen with unread response bytes. */
  unreadSince: number | undefined;
};

const LOOKS = 10;

/** One timer for all requests: a timer each would cost more than most requests do. */
export function createSlowClientWatchdog<R extends Response = Response>({
  requestMs,
  answerMs,
  unreadBytes = UNREAD_BYTES,
}: ExchangeLimits): SlowClientWatchdog<R> {
  const underWay = new LinkedList<Watched<R>>();
  const look = (): void => {
    const now = performance.now();
    for (const watched of underWay) {
      const { response } = watched;
      const isUnread = response.writableEnded || response.writableLength > 0;
      watched.unreadSince = isUnread ? (watched.unreadSince ?? now) : undefined;
      const isSlowReader = now - (watched.unreadSince ?? now) >= answerMs;
      if (isSlowReader || isSlowWriter(watched, now)) cut(response);
    }
    cutLargest(responsesOf(underWay), unreadBytes);
  };
  // Not `complete`: without a body it is only set once the request is read.
  const isSlowWriter = ({ request, begunAt }: Watched<R>, now: number): boolean =>
    'stream' in request && now - begunAt >= requestMs && request.stream.state.remoteClose !== 1;
  const timer = setInterval(look, Math.ceil(Math.min(requestMs, answerMs) / LOOKS));
  timer.unref();
  return {
    begin(request, response) {
      const begunAt = performance.now();
      const link = underWay.add({ response, request, begunAt, unreadSince: undefined });
      response.on('close', () => underWay.remove(link));
    },
    get size() {
      return underWay.size;
    },
    responses: () => responsesOf(underWay),
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
