// Spans of SQL statements, for those that belong to a trace.
import { context, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { ClientBase, Pool } from 'pg';
import { codeOf } from '../caught-error.ts';
import { activeBatchSize, errorType, failSpan, isTracing, tracer } from './spans.ts';

type Query = (...args: unknown[]) => Promise<unknown>;

/** Makes a caller that waited for a connection go on in its own context, not in that of the one that released it. */
export function keepContextInPool(pool: Pool): void {
  if (!isTracing()) return;
  const connect: (...args: unknown[]) => unknown = pool.connect.bind(pool);
  const bound = (callback?: () => void) =>
    callback === undefined ? connect() : connect(context.bind(context.active(), callback));
  pool.connect = bound as typeof pool.connect;
}

/** Call it for each new connection. Tracing starts before the pool opens. */
export function traceStatements(client: ClientBase): void {
  if (!isTracing()) return;
  const query: Query = client.query.bind(client);
  const traced: Query = (...args) => {
    const [statement] = args;
    const text = typeof statement === 'string' ? statement : textOf(statement);
    // The streams of COPY are objects without a text.
    if (trace.getActiveSpan() === undefined || text === undefined) return query(...args);
    const span = startStatementSpan(client, nameOf(statement), text);
    const callback = args.at(-1);
    // The pool passes callbacks; transactions await promises.
    if (typeof callback === 'function') {
      const done = (error: unknown, ...results: unknown[]): void => {
        endStatementSpan(span, error);
        callback(error, ...results);
      };
      return query(...args.slice(0, -1), done);
    }
    const result = query(...args);
    result.then(
      () => endStatementSpan(span),
      (error: unknown) => endStatementSpan(span, error),
    );
    return result;
  };
  client.query = traced as typeof client.query;
}

function startStatementSpan(client: ClientBase, preparedName: string | undefined, text: string): Span {
  const { database, host, port } = client as { database?: string; host?: string; port?: number }; // not in the types
  const [operation = ''] = /\w+/.exec(text) ?? [];
  const name = preparedName ?? operation;
  return tracer.startSpan(name, {
    kind: SpanKind.CLIENT,
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation.toUpperCase(),
      'db.query.summary': name,
      'db.namespace': database || undefined,
      'server.address': host || undefined,
      'server.port': port || undefined,
      'db.operation.batch.size': activeBatchSize(),
    },
  });
}

function endStatementSpan(span: Span, error?: unknown): void {
  if (error != null) {
    const state = codeOf(error);
    if (state !== undefined) span.setAttribute('db.response.status_code', state);
    failSpan(span, state ?? errorType(error));
  }
  span.end();
}

function textOf(statement: unknown): string | undefined {
  if (typeof statement !== 'object' || statement === null || 'submit' in statement) return undefined;
  return 'text' in statement && typeof statement.text === 'string' ? statement.text : undefined;
}

function nameOf(statement: unknown): string | undefined {
  const isNamed = typeof statement === 'object' && statement !== null && 'name' in statement;
  return isNamed && typeof statement.name === 'string' ? statement.name : undefined;
}
