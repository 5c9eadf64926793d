// Limits the concurrent requests of a client, so that it cannot exhaust the memory of the process.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { clientKey } from './client-key.ts';
import { Quota, releaseAll, takeAll } from './quota.ts';

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
