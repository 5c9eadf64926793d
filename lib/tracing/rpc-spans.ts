// Interceptors that make a span of each RPC: of those served here, and of calls to a core in another process.
//
// Attributes hold ids, never keys, fingerprints or customers.
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { codeToString } from '@connectrpc/connect/protocol-connect';
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
} from '@opentelemetry/api';
import { failSpan, tracer } from './span.ts';

type Next = ReturnType<Interceptor>;
type AnyRequest = Parameters<Next>[0];

/** Place it outermost, so that the work of the other interceptors is part of the span. */
export const traceServedRpcs: Interceptor = (next) => (request) => {
  // Health checks and reflection would only fill the traces.
  if (!request.service.typeName.startsWith('hub.')) return next(request);
  const isInProcess = request.url.startsWith('direct:');
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
