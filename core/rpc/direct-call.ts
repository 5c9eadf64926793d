// One call within the process, as interceptors and services see it. What few of them look at is made when they do.
import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { type Caller, callerKey, requestIdKey } from '../access/caller.ts';

export type HeaderInit = ConstructorParameters<typeof Headers>[0];

/** The request that interceptors pass on, and the context that the implementation is given. */
export class DirectCall<I extends DescMessage, O extends DescMessage>
  implements UnaryRequest<I, O>, HandlerContext
{
  readonly stream = false;
  readonly requestMethod = 'POST';
  readonly protocolName = 'direct';
  readonly method: DescMethodUnary<I, O>;
  readonly message: MessageShape<I>;
  readonly contextValues: ContextValues;
  readonly #headerInit: HeaderInit;
  readonly #dueAt: number;
  #header: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #controller: AbortController | undefined;
  #ended: { readonly reason: unknown } | undefined;

  constructor(
    method: DescMethodUnary<I, O>,
    message: MessageShape<I>,
    { header, caller, timeoutMs }: { header: HeaderInit; caller: Caller; timeoutMs: number },
  ) {
    this.method = method;
    this.message = message;
    this.#headerInit = header;
    this.#dueAt = performance.now() + timeoutMs;
    this.contextValues = createContextValues();
    this.contextValues.set(callerKey, caller);
    this.contextValues.set(requestIdKey, requestIdOf(header));
  }

  get service() {
    return this.method.parent;
  }

  get url(): string {
    return `direct:///${this.method.parent.typeName}/${this.method.name}`;
  }

  get header(): Headers {
    this.#header ??= new Headers(this.#headerInit);
    return this.#header;
  }

  get requestHeader(): Headers {
    return this.header;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    return this.contextValues;
  }

  /** Aborted when the caller gives up, or the deadline is over. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason);
    return this.#controller.signal;
  }

  timeoutMs(): number {
    return this.#dueAt - performance.now();
  }

  abort(reason: unknown = new ConnectError('the call was aborted', Code.Canceled)): void {
    this.#ended ??= { reason };
    this.#controller?.abort(reason);
  }

  answer(message: MessageShape<O>): UnaryResponse<I, O> {
    return new DirectAnswer(this, message);
  }
}

class DirectAnswer<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false;
  readonly message: MessageShape<O>;
  readonly #call: DirectCall<I, O>;

  constructor(call: DirectCall<I, O>, message: MessageShape<O>) {
    this.#call = call;
    this.message = message;
  }

  get service() {
    return this.#call.service;
  }

  get method() {
    return this.#call.method;
  }

  get header(): Headers {
    return this.#call.responseHeader;
  }

  get trailer(): Headers {
    return this.#call.responseTrailer;
  }
}

/** The gateway gives headers as a plain object. */
function requestIdOf(header: HeaderInit): string {
  if (header === undefined || header instanceof Headers || Symbol.iterator in header) {
    return new Headers(header).get('x-request-id') ?? '';
  }
  return header['x-request-id'] ?? '';
}
