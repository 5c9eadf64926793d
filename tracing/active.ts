// Where in which trace this code runs: a place is handed on with every await. Without tracing there is none.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';

export type Place = {
  readonly span: Span;
  /** If it serves several requests at once, how many. */
  readonly batch?: number;
};

export const active = new AsyncLocalStorage<Place | undefined>();

/** What a trace does not keep, nothing below it keeps either. */
export function isKept(place: Place): boolean {
  return (place.span.spanContext().traceFlags & SAMPLED) !== 0;
}

/** What a log line says so that its trace is found, and the line from there. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const place = active.getStore();
  if (place === undefined || !isKept(place)) return {};
  const { traceId, spanId } = place.span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** W3C Trace Context, section 3.2.2.5. */
const SAMPLED = 1;
