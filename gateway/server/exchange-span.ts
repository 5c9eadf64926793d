// The span of a request to the public port, by OpenTelemetry's semantic conventions for HTTP servers.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Link, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import { PUBLIC_ID } from '../../lib/tracing/rpc-spans.ts';
import { failSpan, inSpan } from '../../lib/tracing/span.ts';

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
      describeAnswer(span, exchange);
    },
    ROOT_CONTEXT,
  );
}

function describeAnswer(span: Span, { req, route, status }: TracedExchange): void {
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
  const context = trace.getSpanContext(propagation.extract(ROOT_CONTEXT, { traceparent }));
  return context === undefined ? [] : [{ context }];
}
