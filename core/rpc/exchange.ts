// The HTTP request and response that carry a call, for what has to last as long as both are open.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createContextKey } from '@connectrpc/connect';
import { clientKey } from '../../ports/client-key.ts';

export type Exchange = {
  /** The same object for all exchanges of a connection. */
  readonly connection: object;
  /** An IPv4 address or an IPv6 /64. */
  readonly client: string;
  /** Calls back once the response is closed: sent, cut, or given up by the client. At once if it is closed already. */
  onClose(listener: () => void): void;
};

/** Set for every call that comes from the wire. */
export const exchangeKey = createContextKey<Exchange | undefined>(undefined, { description: 'exchange' });

export function exchangeOf(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): Exchange {
  let listeners: (() => void)[] | undefined = [];
  response.once('close', () => {
    const told = listeners ?? [];
    listeners = undefined;
    for (const listener of told) listener();
  });
  return {
    connection: ('stream' in request ? request.stream.session : undefined) ?? request.socket,
    client: clientKey(request.socket.remoteAddress ?? ''),
    onClose(listener) {
      if (listeners === undefined) listener();
      else listeners.push(listener);
    },
  };
}
