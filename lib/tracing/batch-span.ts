// Spans of work that several requests share: part of the trace of the first, and linked to the others.
import { type Context, context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { inSpan, sampledSpan } from './span.ts';

const BATCH_SIZE = createContextKey('hub batch size');

/** Runs the work of a batch; `contexts` are those in which its requests began to wait. */
export function inBatchSpan<T>(contexts: readonly Context[], work: () => Promise<T>): Promise<T> {
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
