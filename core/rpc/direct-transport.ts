// A Connect transport that calls the services in this process: same interceptors as on the wire, no serialization.
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  createContextValues,
  createHandlerContext,
  type Interceptor,
  type Transport,
  type UnaryRequest,
} from '@connectrpc/connect';
import { runUnaryCall } from '@connectrpc/connect/protocol';
import { type Caller, callerKey, requestIdKey } from '../access/caller.ts';
import type { ServiceEntry } from '../service-entry.ts';

export type DirectTransportOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: Interceptor[];
  /** As whom the calls are made: within the process there is no token to ask for. */
  readonly caller: Caller;
};

/** Unary calls only; the gateway makes no others. */
export function createDirectTransport({ services, interceptors, caller }: DirectTransportOptions): Transport {
  const implementations = new Map(services.map((entry) => [entry.service.typeName, entry.implementation]));
  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: ConstructorParameters<typeof Headers>[0],
      input: MessageInitShape<I>,
    ) {
      const implementation = implementations.get(method.parent.typeName)?.[method.localName];
      if (implementation === undefined) {
        throw new ConnectError(
          `${method.parent.typeName}/${method.name} is not served here`,
          Code.Unimplemented,
        );
      }
      const requestHeader = new Headers(header);
      const contextValues = createContextValues();
      contextValues.set(callerKey, caller);
      contextValues.set(requestIdKey, requestHeader.get('x-request-id') ?? '');
      const request = {
        stream: false as const,
        service: method.parent,
        method,
        requestMethod: 'POST',
        url: `direct:///${method.parent.typeName}/${method.name}`,
        header: requestHeader,
        contextValues,
        message: create(method.input, input),
      };
      return runUnaryCall<I, O>({
        interceptors,
        ...(signal && { signal }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        req: request,
        next: async (req: UnaryRequest<I, O>) => {
          const context = createHandlerContext({
            service: req.service,
            method: req.method,
            protocolName: 'direct',
            requestMethod: req.requestMethod,
            url: req.url,
            requestSignal: req.signal,
            requestHeader: req.header,
            contextValues: req.contextValues,
          });
          const call = implementation as UnaryImplementation<I, O>; // unary by `method`
          const bounded = signal !== undefined || timeoutMs !== undefined;
          const output = await (bounded
            ? unlessAborted(req.signal, async () => call(req.message, context))
            : call(req.message, context));
          return {
            stream: false as const,
            service: method.parent,
            method,
            header: context.responseHeader,
            trailer: context.responseTrailer,
            message: create(method.output, output),
          };
        },
      });
    },
    stream: () => Promise.reject(new ConnectError('streams are not served in process', Code.Unimplemented)),
  };
}

/** Stops waiting when the signal aborts, as a client on the wire would; a call that has begun is not undone. */
function unlessAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(ConnectError.from(signal.reason, Code.Canceled));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    call()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}

type UnaryImplementation<I extends DescMessage, O extends DescMessage> = (
  message: UnaryRequest<I, O>['message'],
  context: ReturnType<typeof createHandlerContext>,
) => Promise<MessageInitShape<O>> | MessageInitShape<O>;
