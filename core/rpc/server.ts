// The internal RPC port: Connect, gRPC and gRPC-Web on one listener.
import type { HandlerContext, Interceptor } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { ServiceEntry } from '../service-entry.ts';
import { createListener, type Handler, type Listener } from './listener.ts';

// An issue of 1000 licenses with 64 limits each stays well below.
const READ_MAX_BYTES = 1024 * 1024;
const MAX_TIMEOUT_MS = 60_000;

export type RpcListenerOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: Interceptor[];
  /** Asked before a request's body is read; what it throws is the answer. */
  readonly gate?: (context: HandlerContext) => Promise<void>;
  /** Around the whole handler, for what never becomes an RPC. */
  readonly wrap?: (handler: Handler) => Handler;
};

export function createRpcListener({
  services,
  interceptors,
  gate,
  wrap = (handler) => handler,
}: RpcListenerOptions): Listener {
  const shutdown = new AbortController();
  const handler = connectNodeAdapter({
    routes: (router) => {
      for (const { service, implementation } of services) router.service(service, implementation);
    },
    interceptors,
    ...(gate && { requestGate: gate }),
    readMaxBytes: READ_MAX_BYTES,
    maxTimeoutMs: MAX_TIMEOUT_MS,
    // Ends what would never end by itself (Health/Watch); unary calls are carried through.
    shutdownSignal: shutdown.signal,
    // Programs that speak gRPC-Web from a browser would need CORS; this port is not for browsers.
  });
  const listener = createListener(wrap(handler));
  return {
    server: listener.server,
    close(graceMs) {
      shutdown.abort();
      return listener.close(graceMs);
    },
  };
}
