// Makes spans of what a channel tells: one for each piece of work, in the place where it is done.
import type { TracingChannel } from 'node:diagnostics_channel';
import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { active, isKept, type Place } from './active.ts';

export type Beginning = {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly links?: readonly Link[];
  /** What it is part of. By default the place where it is done, or nothing. */
  readonly parent?: Context;
  /** How many requests its statements serve. */
  readonly batch?: number;
};

export type Told<M> = M & { readonly error?: unknown; readonly result?: unknown };

export type Telling<M> = {
  readonly begin: (message: M) => Beginning;
  /** Told when the span can be named to others: of work that is not kept, the one around it. */
  readonly begun?: (message: M, span: Span) => void;
  readonly end?: (message: Told<M>, span: Span) => void;
};

/** Returns what ends it. */
export function record<M extends object>(
  tracer: Tracer,
  { start, asyncEnd }: TracingChannel<Place | undefined, M>,
  { begin, begun, end }: Telling<M>,
): () => void {
  const spans = new WeakMap<M, Span>();
  const enter = (message: M): Place => {
    const here = active.getStore();
    if (here !== undefined && !isKept(here)) {
      begun?.(message, here.span);
      return here;
    }
    const { name, parent, batch, links, ...options } = begin(message);
    const around = parent ?? (here ? trace.setSpan(ROOT_CONTEXT, here.span) : ROOT_CONTEXT);
    const span = tracer.startSpan(name, { ...options, ...(links && { links: [...links] }) }, around);
    spans.set(message, span);
    begun?.(message, span);
    return { span, ...(batch !== undefined && { batch }) };
  };
  const leave = (message: unknown): void => {
    const told = message as Told<M>; // of this channel
    const span = spans.get(told);
    if (span?.isRecording()) end?.(told, span);
    span?.end();
  };
  start.bindStore(active, enter);
  asyncEnd.subscribe(leave);
  return () => {
    start.unbindStore(active);
    asyncEnd.unsubscribe(leave);
  };
}

/** `type` is one of few: a class, a code. What an error says may quote anything, and is for the log. */
export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}
