// What a span says of each kind of work, by OpenTelemetry's semantic conventions. Ids are told; keys, fingerprints and customers are not.
import type { IncomingHttpHeaders } from 'node:http';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { active } from './active.ts';
import type { Batch, Chore, Exchange, ProviderExchange, Question, Rpc, Statement } from './channels.ts';
import { fail, type Telling } from './record.ts';

const traceContext = new W3CTraceContextPropagator();

/** A trace of its own: anybody can send a trace id, and a wish to be recorded. The caller's is linked. */
export const exchangeTelling: Telling<Exchange> = {
  begin: ({ req, requestId }) => ({
    name: methodOf(req.method),
    kind: SpanKind.SERVER,
    parent: ROOT_CONTEXT,
    links: linkTo(strangerOf(req.headers)),
    attributes: {
      'http.request.method': methodOf(req.method),
      'url.scheme': 'http',
      'network.protocol.version': req.httpVersion,
      'hub.request.id': requestId,
    },
  }),
  end({ req, route, status }, span) {
    if (route !== undefined) {
      span.updateName(`${methodOf(req.method)} ${route.pattern}`);
      span.setAttributes({ 'http.route': route.pattern, 'url.path': pathOf(req.url ?? '', route.pattern) });
    }
    if (status === undefined || status === CLIENT_GONE) return fail(span, 'client_gone');
    span.setAttribute('http.response.status_code', status);
    if (status >= 500) fail(span, String(status));
  },
};

/** Who may call the RPC port is trusted with its traces. */
export const rpcTelling: Telling<Rpc> = {
  begin: ({ request }) => ({
    ...beginningOf(request),
    ...(request.url.startsWith('direct:')
      ? { kind: SpanKind.INTERNAL }
      : { kind: SpanKind.SERVER, parent: callerOf(request.header) }),
  }),
  end({ error, result }, span) {
    span.setAttributes(idsIn(messageOf(result)));
    if (error === undefined) return;
    const { code } = ConnectError.from(error);
    span.setAttribute('rpc.status_code', labelOf(code));
    // What the caller did wrong is no failure of the hub's.
    if (FAILURES.has(code)) fail(span, labelOf(code));
  },
};

export const coreCallTelling: Telling<Rpc> = {
  begin: ({ request }) => ({ ...beginningOf(request), kind: SpanKind.CLIENT }),
  begun: ({ request }, span) =>
    traceContext.inject(trace.setSpan(ROOT_CONTEXT, span), request.header, {
      set: (header: Headers, name, value) => header.set(name, value),
    }),
  end({ error }, span) {
    if (error === undefined) return;
    const code = labelOf(ConnectError.from(error).code);
    span.setAttribute('rpc.status_code', code);
    fail(span, code);
  },
};

export const statementTelling: Telling<Statement> = {
  begin({ name, operation, database }) {
    const batch = active.getStore()?.batch;
    return {
      name,
      kind: SpanKind.CLIENT,
      attributes: {
        'db.system.name': 'postgresql',
        'db.operation.name': operation.toUpperCase(),
        'db.query.summary': name,
        'db.namespace': database.name,
        'server.address': database.host,
        'server.port': database.port,
        'db.operation.batch.size': batch,
      },
    };
  },
  end({ error }, span) {
    if (error === undefined) return;
    const state = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (state !== undefined) span.setAttribute('db.response.status_code', state);
    fail(span, state ?? typeOf(error));
  },
};

/** Those besides the first find it by a link as well: each span names the other. */
export const batchTelling: Telling<Batch> = {
  begin: ({ size, places: [, ...others] }) => ({
    name: 'batch',
    kind: SpanKind.INTERNAL,
    attributes: { 'hub.batch.size': size },
    links: others.map(({ span }) => ({ context: span.spanContext() })),
    batch: size,
  }),
  begun({ places: [, ...others] }, span) {
    for (const other of others)
      if (other.span.isRecording()) other.span.addLink({ context: span.spanContext() });
  },
  end({ error }, span) {
    if (error !== undefined) fail(span, typeOf(error));
  },
};

export const questionTelling: Telling<Question> = {
  begin: ({ slot, sessionId }) => ({
    name: 'verify',
    kind: SpanKind.INTERNAL,
    attributes: { 'hub.slot': slot, 'hub.session.id': sessionId() },
  }),
  end({ error, result }, span) {
    const kind = typeof result === 'object' && result !== null && 'kind' in result ? result.kind : undefined;
    if (typeof kind === 'string') span.setAttribute('hub.verification.outcome', kind);
    if (error !== undefined) fail(span, typeOf(error));
  },
};

/** Neither path nor query: credentials are in some. And nothing of ours is sent along. */
export const providerExchangeTelling: Telling<ProviderExchange> = {
  begin: ({ method, host }) => ({
    name: method,
    kind: SpanKind.CLIENT,
    attributes: { 'http.request.method': method, 'server.address': host },
  }),
  end({ error, result }, span) {
    const status =
      typeof result === 'object' && result !== null && 'status' in result ? result.status : undefined;
    if (typeof status === 'number') {
      span.setAttribute('http.response.status_code', status);
      if (status >= 400) fail(span, String(status));
    }
    if (error !== undefined) fail(span, typeOf(error));
  },
};

/** A trace of its own, linked to where its callback or session was last heard of. */
export function choreTelling(lastHeardOf: (id: string) => SpanContext | undefined): Telling<Chore> {
  return {
    begin({ name, about }) {
      const id = about();
      return {
        name,
        kind: SpanKind.INTERNAL,
        parent: ROOT_CONTEXT,
        links: linkTo(lastHeardOf(id)),
        attributes: { [id.startsWith('cb_') ? 'hub.callback.id' : 'hub.session.id']: id },
      };
    },
    end({ error }, span) {
      if (error !== undefined) fail(span, typeOf(error));
    },
  };
}

/** As the gateway logs it: there was nobody to answer any more. */
const CLIENT_GONE = 499;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'];

function methodOf(method = ''): string {
  return METHODS.includes(method) ? method : '_OTHER';
}

/** The path, as far as it consists of the route and of ids: in place of those somebody may have written anything. */
function pathOf(url: string, pattern: string): string {
  const segments = url.split('?', 1)[0]?.split('/') ?? [];
  const shown = (part: string, at: number): string => {
    const segment = segments[at] ?? '';
    return part.startsWith('{') && ID.test(segment) ? segment : part;
  };
  return pattern.split('/').map(shown).join('/');
}

/** By its ids alone: in a `tracestate` anybody may have written anything. */
function strangerOf({ traceparent }: IncomingHttpHeaders): SpanContext | undefined {
  const context = traceContext.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
  return trace.getSpanContext(context);
}

function linkTo(context: SpanContext | undefined): Link[] {
  return context === undefined ? [] : [{ context }];
}

function callerOf(header: Headers): Context {
  return traceContext.extract(ROOT_CONTEXT, header, {
    get: (from: Headers, name) => from.get(name) ?? undefined,
    keys: (from: Headers) => [...from.keys()],
  });
}

function beginningOf({ method, message }: Rpc['request']) {
  const name = `${method.parent.typeName}/${method.name}`;
  return { name, attributes: { 'rpc.system.name': 'connectrpc', 'rpc.method': name, ...idsIn(message) } };
}

/** Of failures that are the hub's. */
const FAILURES: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** `not_found`, as the protocol writes it. */
function labelOf(code: Code): string {
  return (Code[code] ?? 'unknown').replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

const ID = /^(lic|chs|cb)_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const ID_FIELDS = [
  ['licenseId', 'hub.license.id'],
  ['sessionId', 'hub.session.id'],
  ['callbackId', 'hub.callback.id'],
] as const;

/** Of the messages of an RPC: the ids in fields of these names, in it or in what it holds. */
function idsIn(message: object | undefined): Attributes {
  const ids: Attributes = {};
  for (const holder of [message, member(message, 'license'), member(message, 'session')]) {
    for (const [field, attribute] of ID_FIELDS) {
      const id = member(holder, field);
      if (typeof id === 'string' && ID.test(id)) ids[attribute] = id;
    }
  }
  return ids;
}

function member(holder: unknown, name: string): unknown {
  return typeof holder === 'object' && holder !== null
    ? (holder as { [name: string]: unknown })[name]
    : undefined;
}

function messageOf(response: unknown): object | undefined {
  const message = member(response, 'message');
  return typeof message === 'object' && message !== null ? message : undefined;
}

function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : '_OTHER';
}
