// A Connect transport that calls the services in this process: same interceptors as on the wire, no serialization.
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type HandlerContext,
  type Interceptor,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import type { Caller } from '../access/caller.ts';
import type { ServiceEntry } from '../service-entry.ts';
import { createDeadlines } from './deadlines.ts';
import { DirectCall } from './direct-call.ts';

export type DirectTransportOptions = {
  readonly services: readonly ServiceEntry[];
  readonly interceptors: readonly Interceptor[];
  /** As whom the calls are made: within the process there is no token to ask for. */
  readonly caller: Caller;
  /** Milliseconds after which a call is answered `DeadlineExceeded`, unless it brings a deadline of its own. */
  readonly defaultTimeoutMs: number;
};

/** Unary calls only; the gateway makes no others. */
export function createDirectTransport({
  services,
  interceptors,
  caller,
  defaultTimeoutMs,
}: DirectTransportOptions): Transport {
  const implementations = new Map(services.map((entry) => [entry.service.typeName, entry.implementation]));
  const deadlines = createDeadlines();

  const serve = async (request: UnaryRequest): Promise<UnaryResponse> => {
    const call = request as DirectCall<DescMessage, DescMessage>; // no interceptor makes a request of its own
    const { method, message } = call;
    const implementation = implementations.get(method.parent.typeName)?.[method.localName];
    if (implementation === undefined) {
      throw new ConnectError(
        `${method.parent.typeName}/${method.name} is not served here`,
        Code.Unimplemented,
      );
    }
    const output = await (implementation as UnaryImplementation)(message, call); // unary by `method`
    return call.answer(create(method.output, output));
  };
  const run = interceptors.reduceRight(
    (next, interceptor) => interceptor(next as Next) as typeof serve,
    serve,
  );

  return {
    unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      givenTimeoutMs: number | undefined,
      header: ConstructorParameters<typeof Headers>[0],
      input: MessageInitShape<I>,
    ) {
      return new Promise<UnaryResponse<I, O>>((resolve, reject) => {
        const timeoutMs = givenTimeoutMs ?? defaultTimeoutMs;
        const call = new DirectCall(method, create(method.input, input), { header, caller, timeoutMs });
        // Stops waiting, as a client on the wire would; a call that has begun is not undone.
        const end = (reason: ConnectError): void => {
          call.abort(reason);
          reject(reason);
        };
        const hangUp = (): void => end(ConnectError.from(signal?.reason, Code.Canceled));
        if (signal?.aborted) return hangUp();
        const leaveTime = deadlines.set(timeoutMs, () => end(timedOut()));
        signal?.addEventListener('abort', hangUp, { once: true });
        const settle = (finish: () => void): void => {
          leaveTime();
          signal?.removeEventListener('abort', hangUp);
          finish();
        };
        run(call as unknown as UnaryRequest).then(
          (response) => settle(() => resolve(response as UnaryResponse<I, O>)), // of this method
          (error) => settle(() => reject(error)),
        );
      });
    },
    stream: () => Promise.reject(new ConnectError('streams are not served in process', Code.Unimplemented)),
  };
}

function timedOut(): ConnectError {
  return new ConnectError('the operation timed out', Code.DeadlineExceeded);
}

type Next = Parameters<Interceptor>[0];

type UnaryImplementation = (
  message: UnaryRequest['message'],
  context: HandlerContext,
) => Promise<MessageInitShape<DescMessage>> | MessageInitShape<DescMessage>;
