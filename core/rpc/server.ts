// The internal RPC port: Connect, gRPC and gRPC-Web on one listener.
import { createConnectRouter, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import type { ConnectionCap } from '../../ports/connection-cap.ts';
import type { ServiceEntry } from '../service-entry.ts';
import { createAdapter } from './adapter.ts';
import { withHealthRoutes } from './health-routes.ts';
import { jsonText } from './json-text.ts';
import { createListener, type Handler, type Listener } from './listener.ts';
import type { TlsSource } from './tls.ts';
import { wholeNumbersOnly } from './whole-numbers.ts';

// An issue of 1000 licenses with 64 limits each stays well below.
const READ_MAX_BYTES = 1024 * 1024;
const MAX_TIMEOUT_MS = 60_000;
const JSON_OPTIONS = { ignoreUnknownFields: true, textDecoder: jsonText };

export type RpcListenerOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: Interceptor[];
  /** Asked before a request's body is read; what it throws is the answer. */
  readonly gate?: (context: HandlerContext) => Promise<void>;
  /** What /readyz tells. Never throws. Default: as long as it runs. */
  readonly isReady?: () => Promise<boolean>;
  /** Around the whole handler, for what never becomes an RPC. */
  readonly wrap?: (handler: Handler) => Handler;
  /** Told of calls that broke down outside of all interceptors. */
  readonly onFailure?: (error: unknown) => void;
  /** Without it, the port speaks plaintext. */
  readonly tls?: TlsSource | undefined;
  readonly admit?: ConnectionCap;
};

export function createRpcListener({
  services,
  interceptors,
  gate,
  isReady = async () => true,
  wrap = (handler) => handler,
  onFailure = () => {},
  tls,
  admit,
}: RpcListenerOptions): Listener {
  const shutdown = new AbortController();
  const router = createConnectRouter({
    interceptors,
    jsonOptions: JSON_OPTIONS,
    acceptCompression: [compressionGzip, compressionBrotli],
    ...(gate && { requestGate: gate }),
    readMaxBytes: READ_MAX_BYTES,
    maxTimeoutMs: MAX_TIMEOUT_MS,
    // Ends what would never end by itself (Health/Watch); unary calls are carried through.
    shutdownSignal: shutdown.signal,
    // No CORS: the console is of the same origin, and pages of elsewhere have no business here.
  });
  for (const { service, implementation } of services) router.service(service, implementation);
  const handlers = router.handlers.map((handler) => wholeNumbersOnly(handler, READ_MAX_BYTES));
  const handler = withHealthRoutes(wrap(createAdapter(handlers, onFailure)), isReady);
  const listener = createListener(handler, { tls, ...(admit && { admit }) });
  return {
    server: listener.server,
    close(graceMs) {
      shutdown.abort();
      return listener.close(graceMs);
    },
  };
}
