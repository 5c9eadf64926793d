// Tells of the statements on a connection to PostgreSQL that are part of a trace.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientBase, Pool } from 'pg';
import { active } from './active.ts';
import { statements } from './channels.ts';

type Query = (...args: unknown[]) => Promise<unknown>;

/** Who waits for a connection gets it when another gives it back, and is still where he was. */
export function keepPlaces(pool: Pool): void {
  if (!statements.hasSubscribers) return;
  const connect: (...args: unknown[]) => unknown = pool.connect.bind(pool);
  const kept = (callback?: () => void) =>
    callback === undefined ? connect() : connect(AsyncLocalStorage.bind(callback));
  pool.connect = kept as typeof pool.connect;
}

/** Of a new connection. Without anybody who traces it stays as it is. */
export function traceStatements(client: ClientBase): void {
  if (!statements.hasSubscribers) return;
  const query: Query = client.query.bind(client);
  const { database: name, host, port } = client as { database?: string; host?: string; port?: number }; // not in the types
  const database = { ...(name && { name }), ...(host && { host }), ...(port && { port }) };
  const traced: Query = (...args) => {
    const [asked] = args;
    const place = active.getStore();
    const text = typeof asked === 'string' ? asked : textOf(asked);
    // Streams of COPY are asked as objects of their own.
    if (place === undefined || text === undefined) return query(...args);
    const [operation = ''] = /\w+/.exec(text) ?? [];
    const statement = { name: nameOf(asked) ?? operation, operation, database };
    // The pool asks by callback, transactions wait for promises.
    return typeof args.at(-1) === 'function'
      ? statements.traceCallback(query, -1, statement, undefined, ...args)
      : statements.tracePromise(query, statement, undefined, ...args);
  };
  client.query = traced as typeof client.query;
}

function textOf(asked: unknown): string | undefined {
  const isStatement = typeof asked === 'object' && asked !== null && 'text' in asked && !('submit' in asked);
  return isStatement && typeof asked.text === 'string' ? asked.text : undefined;
}

function nameOf(asked: unknown): string | undefined {
  const isNamed = typeof asked === 'object' && asked !== null && 'name' in asked;
  return isNamed && typeof asked.name === 'string' ? asked.name : undefined;
}
