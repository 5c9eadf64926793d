// A Connect transport that calls the services in this process, with the interceptors of the wire and no
// serialization.
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { type Caller, callerKey, requestIdKey } from '../../access/caller.ts';
import type { ServiceEntry } from '../../service-entry.ts';

export type InProcessTransportOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: readonly Interceptor[];
  /** Makes the calls: within the process there is no token. */
  readonly caller: Caller;
  /** Milliseconds after which a call fails with `DeadlineExceeded`, unless it has a deadline of its own. */
  readonly defaultTimeoutMs: number;
};

/** What interceptors pass on, and the implementation gets as its context. */
type Call = UnaryRequest & HandlerContext;

/** Unary calls only. */
export function createInProcessTransport({
  services,
  interceptors,
  caller,
  defaultTimeoutMs,
}: InProcessTransportOptions): Transport {
  const implementations = new Map(services.map((entry) => [entry.service.typeName, entry.implementation]));

  const serve = async (request: UnaryRequest): Promise<UnaryResponse> => {
    const call = request as Call; // no interceptor makes a request of its own
    const { service, method, message } = call;
    const implementation = implementations.get(service.typeName)?.[method.localName];
    if (implementation === undefined) {
      throw new ConnectError(`${service.typeName}/${method.name} is not served here`, Code.Unimplemented);
    }
    const output = await (implementation as UnaryImplementation)(message, call); // unary by `method`
    return {
      stream: false,
      service,
      method,
      header: call.responseHeader,
      trailer: call.responseTrailer,
      message: create(method.output, output),
    };
  };
  const run = interceptors.reduceRight(
    (next, interceptor) => interceptor(next as Next) as typeof serve,
    serve,
  );

  return {
    unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeadersInit | undefined,
      input: MessageInitShape<I>,
    ) {
      return new Promise<UnaryResponse<I, O>>((resolve, reject) => {
        const controller = new AbortController();
        // Like a client on the wire, it stops waiting. The implementation may still finish.
        const end = (reason: ConnectError): void => {
          controller.abort(reason);
          reject(reason);
        };
        const cancel = (): void => end(ConnectError.from(signal?.reason, Code.Canceled));
        if (signal?.aborted) return cancel();
        const deadline = performance.now() + (timeoutMs ?? defaultTimeoutMs);
        const timer = setTimeout(() => end(timedOut()), timeoutMs ?? defaultTimeoutMs).unref();
        signal?.addEventListener('abort', cancel, { once: true });
        const call = createCall(method, create(method.input, input), header, {
          caller,
          signal: controller.signal,
          deadline,
        });
        run(call)
          .then((response) => resolve(response as UnaryResponse<I, O>), reject) // of this method
          .finally(() => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', cancel);
          });
      });
    },
    stream: () => Promise.reject(new ConnectError('streams are not served in process', Code.Unimplemented)),
  };
}

type CallContext = { readonly caller: Caller; readonly signal: AbortSignal; readonly deadline: number };

function createCall(
  method: DescMethodUnary,
  message: UnaryRequest['message'],
  headerInit: HeadersInit | undefined,
  { caller, signal, deadline }: CallContext,
): Call {
  const header = new Headers(headerInit);
  const values = createContextValues();
  values.set(callerKey, caller);
  values.set(requestIdKey, header.get('x-request-id') ?? '');
  return {
    stream: false,
    requestMethod: 'POST',
    protocolName: 'direct',
    url: `direct:///${method.parent.typeName}/${method.name}`,
    service: method.parent,
    method,
    message,
    header,
    requestHeader: header,
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    contextValues: values,
    values,
    signal,
    timeoutMs: () => deadline - performance.now(),
  };
}

function timedOut(): ConnectError {
  return new ConnectError('the operation timed out', Code.DeadlineExceeded);
}

type Next = Parameters<Interceptor>[0];
type HeadersInit = ConstructorParameters<typeof Headers>[0];

type UnaryImplementation = (
  message: UnaryRequest['message'],
  context: HandlerContext,
) => Promise<MessageInitShape<DescMessage>> | MessageInitShape<DescMessage>;
