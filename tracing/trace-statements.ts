// Tells of the statements on a connection to PostgreSQL that are part of a trace.
import type { ClientBase } from 'pg';
import { active } from './active.ts';
import { statements } from './channels.ts';

type Query = (...args: unknown[]) => Promise<unknown>;

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
