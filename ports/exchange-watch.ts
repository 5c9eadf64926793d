// Ends what a client keeps open by not doing its part: by not sending its request, or not taking its answer.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { LinkedList } from './linked-list.ts';

type Response = ServerResponse | Http2ServerResponse;

export type ExchangeWatch<R extends Response = Response> = {
  /** Watches over an exchange until its response is closed. */
  begin(request: IncomingMessage | Http2ServerRequest, response: R): void;
  /** How many are watched over. */
  readonly size: number;
  /** Their responses, in the order in which they began. */
  responses(): R[];
  stop(): void;
};

export type ExchangeLimits = {
  /** For the whole request, by HTTP/2. For HTTP/1 Node's `requestTimeout` sees to it. */
  readonly requestMs: number;
  /** For what is ready to be sent of the answer. */
  readonly answerMs: number;
  /** Of all answers together, what their clients have not taken. Beyond it the largest are cut. Default: 256 MiB. */
  readonly unreadBytes?: number;
};

const UNREAD_BYTES = 256 * 1024 * 1024;

type Watched<R> = {
  readonly response: R;
  readonly request: IncomingMessage | Http2ServerRequest;
  readonly begunAt: number;
  /** Since when, at each look, the client had something of the answer to take. */
  unreadSince: number | undefined;
};

const LOOKS = 10;

/** One timer for all exchanges: one for each would cost more than most of them do. */
export function createExchangeWatch<R extends Response = Response>({
  requestMs,
  answerMs,
  unreadBytes = UNREAD_BYTES,
}: ExchangeLimits): ExchangeWatch<R> {
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
  // Not `complete`, which a request without a body is only once it is read.
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

/** Cuts the answers of which the most is unread, until all that is unread is no more than `most` bytes. */
function cutLargest(responses: readonly Response[], most: number): void {
  let unread = responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
  if (unread <= most) return;
  for (const response of responses.toSorted((one, other) => other.writableLength - one.writableLength)) {
    if (unread <= most) return;
    unread -= response.writableLength;
    cut(response);
  }
}

/** By HTTP/2 it is one of many on its connection, which goes on. */
function cut(response: Response): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.socket?.destroy();
}
