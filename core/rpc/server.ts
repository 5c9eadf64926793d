// The internal RPC port: Connect, gRPC and gRPC-Web on one listener.
import type { DescMethod } from '@bufbuild/protobuf';
import { createConnectRouter, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import type { ConnectionCap } from '../../ports/connection-cap.ts';
import { accessRule } from '../access/authorize.ts';
import type { ServiceEntry } from '../service-entry.ts';
import { createAdapter } from './adapter.ts';
import { createBodyMemory } from './body-memory.ts';
import { createCallLimits } from './call-limits.ts';
import { COMPRESSIONS } from './decompression.ts';
import { withHealthRoutes } from './health-routes.ts';
import { jsonTextOf } from './json-text.ts';
import { createListener, type Handler, type Listener } from './listener.ts';
import { boundedBody } from './request-body.ts';
import type { TlsSource } from './tls.ts';

// An issue of 1000 licenses with 64 limits each stays well below.
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Of a call that needs no token: the name of a service. */
const MAX_PUBLIC_MESSAGE_BYTES = 4 * 1024;
const MAX_TIMEOUT_MS = 60_000;

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
  /** Told of each call that is refused because too much is open or being received already. */
  readonly onRefusal?: () => void;
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
  onRefusal = () => {},
}: RpcListenerOptions): Listener {
  const shutdown = new AbortController();
  const limits = createCallLimits(onRefusal);
  const memory = createBodyMemory(onRefusal);
  const options = {
    interceptors,
    acceptCompression: [...COMPRESSIONS],
    async requestGate(context: HandlerContext) {
      limits.admitPublic(context);
      await gate?.(context);
      limits.admitStream(context);
    },
    maxTimeoutMs: MAX_TIMEOUT_MS,
    // Ends what would never end by itself (Health/Watch); unary calls are carried through.
    shutdownSignal: shutdown.signal,
    // No CORS: the console is of the same origin, and pages of elsewhere have no business here.
  };
  // A router for each method: its input decides how JSON is read, and how much of it.
  const handlersOf = ({ service, implementation }: ServiceEntry): UniversalHandler[] =>
    service.methods.flatMap((method) => {
      const maxBytes = maxMessageBytes(method);
      const jsonOptions = { ignoreUnknownFields: true, textDecoder: jsonTextOf(method.input) };
      const router = createConnectRouter({ ...options, jsonOptions, readMaxBytes: maxBytes });
      router.service({ ...service, methods: [method] }, implementation);
      return router.handlers.map((handler) => boundedBody(handler, maxBytes, memory));
    });
  const handlers = services.flatMap(handlersOf);
  const handler = withHealthRoutes(wrap(createAdapter(handlers, onFailure)), isReady);
  const listener = createListener(handler, { tls, ...(admit && { admit }) });
  return {
    server: listener.server,
    drain: listener.drain,
    close(graceMs) {
      shutdown.abort();
      return listener.close(graceMs);
    },
  };
}

function maxMessageBytes(method: DescMethod): number {
  return accessRule(method).public ? MAX_PUBLIC_MESSAGE_BYTES : MAX_MESSAGE_BYTES;
}
