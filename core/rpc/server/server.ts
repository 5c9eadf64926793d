// The internal RPC port: Connect, gRPC and gRPC-Web on one listener.
import type { DescMethod } from '@bufbuild/protobuf';
import { createConnectRouter, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import type { ConnectionCap } from '../../../lib/net/client-limits.ts';
import { accessRule } from '../../access/authorize.ts';
import type { ServiceEntry } from '../../service-implementation.ts';
import { createBodyMemory } from '../body/body-memory.ts';
import { COMPRESSIONS } from '../body/decompression.ts';
import { jsonTextOf } from '../body/json-text.ts';
import { boundedBody } from '../body/request-body.ts';
import { withHealthRoutes } from '../endpoints/health-routes.ts';
import { createAdapter, type HandlerAt } from './adapter.ts';
import type { Handler } from './handler.ts';
import { createListener, type Listener } from './listener.ts';
import {
  MAX_MESSAGE_BYTES,
  MAX_PUBLIC_MESSAGE_BYTES,
  MAX_TIMEOUT_MS,
  UPLOAD_LIMITS,
} from './message-limits.ts';
import { createCallLimits } from './open-call-limits.ts';
import type { TlsSource } from './tls.ts';

export type RpcListenerOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: Interceptor[];
  /** Runs before the body of a request is read; an error it throws is the response. */
  readonly gate?: (context: HandlerContext) => Promise<void>;
  /** The result of /readyz. Never throws. Default: always true. */
  readonly isReady?: () => Promise<boolean>;
  /** Wraps the whole handler, for requests that are not RPCs. */
  readonly wrap?: (handler: Handler) => Handler;
  /** Called for calls that failed outside of all interceptors. */
  readonly onFailure?: (error: unknown) => void;
  /** Without it, the port speaks plaintext. */
  readonly tls?: TlsSource | undefined;
  readonly admit?: ConnectionCap;
  /** Called for each call that a limit on open calls or received bytes refuses. */
  readonly onRefusal?: () => void;
};

export function createRpcListener(listenerOptions: RpcListenerOptions): Listener {
  const { services, interceptors, gate, isReady = async () => true, tls, admit } = listenerOptions;
  const { wrap = (handler) => handler, onFailure = () => {}, onRefusal = () => {} } = listenerOptions;
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
    // Ends streams that never end by themselves (Health/Watch). Unary calls finish.
    shutdownSignal: shutdown.signal,
    // No CORS: the console has the same origin.
  };
  // One router for each method: its input type decides how JSON is read, and its size limit.
  const handlerOf = ({ service, implementation }: ServiceEntry, method: DescMethod): UniversalHandler => {
    const maxBytes = maxMessageBytes(method);
    const jsonOptions = { ignoreUnknownFields: true, textDecoder: jsonTextOf(method.input) };
    const router = createConnectRouter({ ...options, jsonOptions, readMaxBytes: maxBytes });
    router.service({ ...service, methods: [method] }, implementation);
    const [handler] = router.handlers as [UniversalHandler]; // one method has one handler
    return boundedBody(handler, maxBytes, memory, isUpload(method) ? UPLOAD_LIMITS : undefined);
  };
  const handlerAt = handlersByPath(services, handlerOf);
  const handler = withHealthRoutes(wrap(createAdapter(handlerAt, onFailure)), isReady);
  const uploads = new Set(services.flatMap(({ service }) => service.methods.filter(isUpload).map(pathOf)));
  const listener = createListener(handler, { tls, uploads, ...(admit && { admit }) });
  return {
    server: listener.server,
    drain: listener.drain,
    close(graceMs) {
      shutdown.abort();
      return listener.close(graceMs);
    },
  };
}

/** Creates the handler of a method at its first call: those of all methods take 2 MB. */
function handlersByPath(
  services: readonly ServiceEntry[],
  create: (entry: ServiceEntry, method: DescMethod) => UniversalHandler,
): HandlerAt {
  const methods = new Map(
    services.flatMap((entry) => entry.service.methods.map((method) => [pathOf(method), { entry, method }])),
  );
  const handlers = new Map<string, UniversalHandler>();
  return (path) => {
    const found = handlers.get(path);
    if (found !== undefined) return found;
    const called = methods.get(path);
    if (called === undefined) return undefined;
    const handler = create(called.entry, called.method);
    handlers.set(path, handler);
    return handler;
  };
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function isUpload({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming';
}

function maxMessageBytes(method: DescMethod): number {
  return accessRule(method).public ? MAX_PUBLIC_MESSAGE_BYTES : MAX_MESSAGE_BYTES;
}
