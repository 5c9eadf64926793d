// Spans of requests, RPCs and batches. The OpenTelemetry API does nothing until `start-tracing.ts` registers an SDK.
//
// Attributes hold ids, never keys, fingerprints or customers.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { codeToString } from '@connectrpc/connect/protocol-connect';
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  INVALID_SPAN_CONTEXT,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

export const tracer = trace.getTracer('hub');

const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
let isOn = false;

/** Without an SDK, spans are skipped: even those that do nothing cost a tenth of a soft check. */
export function isTracing(): boolean {
  return isOn;
}

/** `start-tracing.ts` calls it when the SDK starts and stops. */
export function switchTracing(on: boolean): void {
  isOn = on;
}

/**
 * Runs `work` in a span that ends with it, and that fails if `work` rejects. Guard attributes that cost something by
 * `span.isRecording()`.
 */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  parent: Context = context.active(),
): Promise<T> {
  if (!isOn) return work(NO_SPAN);
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failSpan(span, errorType(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** `type` is one of a few: a class or a code. Messages may quote secrets, and belong to the log. */
export function failSpan(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}

/** The active span if its trace is kept. */
export function sampledSpan(from: Context = context.active()): Span | undefined {
  if (!isOn) return undefined;
  const span = trace.getSpan(from);
  return span !== undefined && (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0 ? span : undefined;
}

/** The fields of a log line that lead from it to its trace. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = sampledSpan();
  if (span === undefined) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** `route` and `status` are set by the time the work ends; `status` is 499 if the client disconnected. */
type TracedExchange = {
  readonly req: IncomingMessage;
  readonly requestId: string;
  readonly route: { readonly pattern: string } | undefined;
  readonly status: number | undefined;
};

/**
 * Starts a new trace for each request and links the caller's: otherwise any client could choose the trace id
 * and force its requests to be recorded.
 */
export function inExchangeSpan(exchange: TracedExchange, work: () => Promise<void>): Promise<void> {
  if (!isOn) return work();
  const { req, requestId } = exchange;
  const name = methodOf(req.method);
  return inSpan(
    name,
    { kind: SpanKind.SERVER, links: linkToCaller(req.headers) },
    async (span) => {
      if (!span.isRecording()) return work();
      span.setAttributes({
        'http.request.method': name,
        'url.scheme': 'http',
        'network.protocol.version': req.httpVersion,
        'hub.request.id': requestId,
      });
      await work();
      describeResponse(span, exchange);
    },
    ROOT_CONTEXT,
  );
}

function describeResponse(span: Span, { req, route, status }: TracedExchange): void {
  if (route !== undefined) {
    span.updateName(`${methodOf(req.method)} ${route.pattern}`);
    span.setAttributes({ 'http.route': route.pattern, 'url.path': pathOf(req.url ?? '', route.pattern) });
  }
  if (status === undefined || status === CLIENT_GONE) {
    failSpan(span, 'client_gone');
  } else {
    span.setAttribute('http.response.status_code', status);
    if (status >= 500) failSpan(span, String(status));
  }
}

const CLIENT_GONE = 499;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

function methodOf(method = ''): string {
  return METHODS.includes(method) ? method : '_OTHER';
}

/** The path with its ids. Other values of parameters are replaced by their names: they may hold secrets. */
function pathOf(url: string, pattern: string): string {
  const segments = url.split('?', 1)[0]?.split('/') ?? [];
  const shown = (part: string, index: number): string => {
    const segment = segments[index] ?? '';
    return part.startsWith('{') && PUBLIC_ID.test(segment) ? segment : part;
  };
  return pattern.split('/').map(shown).join('/');
}

/** Reads the ids of `traceparent` only: a `tracestate` may hold arbitrary data. */
function linkToCaller({ traceparent }: IncomingHttpHeaders): Link[] {
  if (traceparent === undefined) return [];
  const caller = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { traceparent }));
  return caller === undefined ? [] : [{ context: caller }];
}

type Next = ReturnType<Interceptor>;
type AnyRequest = Parameters<Next>[0];

/** Place it outermost, so that the work of the other interceptors is part of the span. */
export const traceServedRpcs: Interceptor = (next) => (request) => {
  // Health checks and reflection would only fill the traces.
  if (!request.service.typeName.startsWith('hub.')) return next(request);
  const isInProcess = request.url.startsWith('in-process:');
  // Callers of the RPC port are trusted with its traces.
  const parent = isInProcess
    ? context.active()
    : propagation.extract(ROOT_CONTEXT, request.header, {
        get: (header: Headers, name) => header.get(name) ?? undefined,
        keys: (header: Headers) => [...header.keys()],
      });
  return inRpcSpan(next, request, isInProcess ? SpanKind.INTERNAL : SpanKind.SERVER, parent);
};

/** Sends the trace context along in the headers of the call. */
export const traceCoreCalls: Interceptor = (next) => (request) => {
  const call: Next = (each) => {
    propagation.inject(context.active(), each.header, {
      set: (header: Headers, name, value) => header.set(name, value),
    });
    return next(each);
  };
  return inRpcSpan(call, request, SpanKind.CLIENT, context.active());
};

function inRpcSpan(next: Next, request: AnyRequest, kind: SpanKind, parent: Context): ReturnType<Next> {
  if (!isOn) return next(request);
  const { method, message } = request;
  const name = `${method.parent.typeName}/${method.name}`;
  return tracer.startActiveSpan(name, { kind }, parent, async (span) => {
    if (!span.isRecording()) return next(request);
    span.setAttributes({ 'rpc.system.name': 'connectrpc', 'rpc.method': name, ...idsIn(message) });
    try {
      const response = await next(request);
      if (kind !== SpanKind.CLIENT) span.setAttributes(idsIn(response.message));
      return response;
    } catch (error) {
      tagError(span, kind, ConnectError.from(error).code);
      throw error;
    } finally {
      span.end();
    }
  });
}

function tagError(span: Span, kind: SpanKind, code: Code): void {
  const label = codeToString(code);
  span.setAttribute('rpc.status_code', label);
  // A mistake of the caller is not a failure of the hub.
  if (kind === SpanKind.CLIENT || SERVER_FAILURES.has(code)) failSpan(span, label);
}

const SERVER_FAILURES: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** Matches the ids that spans may show. */
export const PUBLIC_ID = /^(lic|chs|cb)_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const ID_FIELDS = [
  ['licenseId', 'hub.license.id'],
  ['sessionId', 'hub.session.id'],
  ['callbackId', 'hub.callback.id'],
] as const;

/** Reads the ids from the fields of that name in a message, and in the license and the session it holds. */
function idsIn(message: unknown): Attributes {
  const ids: Attributes = {};
  for (const holder of [message, member(message, 'license'), member(message, 'session')]) {
    for (const [field, attribute] of ID_FIELDS) {
      const id = member(holder, field);
      if (typeof id === 'string' && PUBLIC_ID.test(id)) ids[attribute] = id;
    }
  }
  return ids;
}

function member(holder: unknown, name: string): unknown {
  return typeof holder === 'object' && holder !== null
    ? (holder as { [name: string]: unknown })[name]
    : undefined;
}

const BATCH_SIZE = createContextKey('hub batch size');

/** Runs the work of a batch; `contexts` are those in which its requests began to wait. */
export function inBatchSpan<T>(contexts: readonly Context[], work: () => Promise<T>): Promise<T> {
  if (!isOn) return work();
  const [first, ...others] = contexts.flatMap((each) => sampledSpan(each) ?? []);
  // Without `with`, the work would run in the context of the request that happened to start the batch.
  if (first === undefined || contexts.length === 1) return context.with(contexts[0] ?? ROOT_CONTEXT, work);
  const size = contexts.length;
  const links = others.map((other) => ({ context: other.spanContext() }));
  return inSpan(
    'batch',
    { attributes: { 'hub.batch.size': size }, links },
    (span) => {
      for (const other of others) if (other.isRecording()) other.addLink({ context: span.spanContext() });
      return work();
    },
    trace.setSpan(ROOT_CONTEXT, first).setValue(BATCH_SIZE, size),
  );
}

/** The number of requests that the current batch serves; undefined outside of one. */
export function activeBatchSize(): number | undefined {
  const size = context.active().getValue(BATCH_SIZE);
  return typeof size === 'number' ? size : undefined;
}
