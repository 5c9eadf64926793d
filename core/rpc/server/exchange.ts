// The HTTP request and response of a call, for resources that are held until both are closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createContextKey } from '@connectrpc/connect';
import { clientKey } from '../../../lib/net/proxies.ts';

export type Exchange = ReturnType<typeof exchangeOf>;

/** Set for every call over the network. */
export const exchangeKey = createContextKey<Exchange | undefined>(undefined, { description: 'exchange' });

export function exchangeOf(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) {
  let listeners: (() => void)[] | undefined = [];
  response.once('close', () => {
    const pending = listeners ?? [];
    listeners = undefined;
    for (const listener of pending) listener();
  });
  return {
    /** The same object for all exchanges of a connection. */
    connection: ('stream' in request ? request.stream.session : undefined) ?? request.socket,
    /** An IPv4 address or an IPv6 /64. */
    client: clientKey(request.socket.remoteAddress ?? ''),
    /** Calls back once the response is sent or its connection is closed; at once if that has happened. */
    onClose(listener: () => void): void {
      if (listeners === undefined) listener();
      else listeners.push(listener);
    },
  };
}
