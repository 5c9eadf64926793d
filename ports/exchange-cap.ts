// How many requests of a client may be under way at the same time, so that none of them fills the memory of the process.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { clientKey } from './client-key.ts';
import { Quota, releaseAll, takeAll } from './quota.ts';

/** Pipelined requests of an HTTP/1.1 connection. HTTP/2 has its own limit. */
const PER_HTTP1_CONNECTION = 2_000;
/** Each costs 10 to 50 KB while it is under way, also when all that is left is an answer that nobody reads. */
const PER_CLIENT = 4_096;

/**
 * Whether a request may be served. One beyond the limits is cut: by HTTP/2 its stream, which the client may open again
 * later, by HTTP/1.1 its connection.
 */
export type ExchangeCap = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => boolean;

export type ExchangeCapOptions = {
  /** Addresses that stand for many clients: proxies. */
  readonly isExempt?: (address: string) => boolean;
  readonly perHttp1Connection?: number;
  readonly perClient?: number;
};

export function createExchangeCap({
  isExempt = () => false,
  perHttp1Connection = PER_HTTP1_CONNECTION,
  perClient = PER_CLIENT,
}: ExchangeCapOptions = {}): ExchangeCap {
  const connections = new Quota<unknown>(perHttp1Connection);
  const clients = new Quota<unknown>(perClient);
  return (request, response) => {
    const { remoteAddress = '' } = request.socket;
    const claims = [
      ...('stream' in response ? [] : [{ quota: connections, key: request.socket }]),
      ...(isExempt(remoteAddress) ? [] : [{ quota: clients, key: clientKey(remoteAddress) }]),
    ];
    if (takeAll(claims) === undefined) {
      response.once('close', () => releaseAll(claims));
      return true;
    }
    if ('stream' in response) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else request.socket.destroy();
    return false;
  };
}
