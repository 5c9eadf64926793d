// Remembers the latest span of each callback and session, so that background work can link to it.
import type { Link, SpanContext } from '@opentelemetry/api';
import { inSpan, sampledSpan } from './spans.ts';

const MAX_REMEMBERED = 10_000;

/** By the id of a callback or a session, the oldest first. Stays empty while tracing is off. */
const latest = new Map<string, SpanContext>();

type CallbackIds = { readonly callbackId: string; readonly sessionId: string | undefined };

/** Notes the ids of a journaled callback on the active span; calls `readIds` only if there is one. */
export function tagCallback(readIds: () => CallbackIds): void {
  const span = sampledSpan();
  if (span === undefined) return;
  const { callbackId, sessionId } = readIds();
  span.setAttribute('hub.callback.id', callbackId);
  remember(callbackId, span.spanContext());
  if (sessionId === undefined) return;
  span.setAttribute('hub.session.id', sessionId);
  remember(sessionId, span.spanContext());
}

function remember(id: string, spanContext: SpanContext): void {
  latest.delete(id); // so that it is added as the newest
  latest.set(id, spanContext);
  const [oldest] = latest.size > MAX_REMEMBERED ? latest.keys() : [];
  if (oldest !== undefined) latest.delete(oldest);
}

/** Runs background work on a callback or a session in a trace of its own, linked to the latest span of that id. */
export function inTaskSpan<T>(
  name: 'callback job' | 'sweep' | 'refund sweep',
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  const spanContext = latest.get(id);
  const links: Link[] = spanContext === undefined ? [] : [{ context: spanContext }];
  const attributes = { [id.startsWith('cb_') ? 'hub.callback.id' : 'hub.session.id']: id };
  return inSpan(name, { root: true, links, attributes }, work);
}
