// Spans of the OpenTelemetry API, which does nothing until `start-tracing.ts` registers an SDK.
import {
  type Context,
  context,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

export const tracer = trace.getTracer('hub');

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
