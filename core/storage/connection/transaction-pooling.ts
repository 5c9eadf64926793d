// A connection through a transaction pooler, such as PgBouncer with pool_mode = transaction. Other clients
// use the same session before and after a transaction, so nothing is kept in it. Each transaction sets its
// own settings, in the same round trip, and no statement is prepared under a name.
import type { ClientBase } from 'pg';

type Query = (...args: unknown[]) => Promise<unknown>;

const BEGIN = /^\s*(?:begin|start\s+transaction)\b[^;]*/i;
/** The end of a transaction at the end of a text, but no `rollback to` a savepoint. */
const END = /(?:^|;)\s*(?:commit|rollback)\s*;?\s*$/i;

/**
 * Runs each statement outside of a transaction in one of its own.
 *
 * @param settings Returns what `set local` takes, such as `lock_timeout = 0`. Called when a transaction
 * begins.
 */
export function keepNoSessionState(client: ClientBase, settings: () => readonly string[]): void {
  const query: Query = client.query.bind(client);
  const begin = (text: string): string => [text, ...settings().map((each) => `set local ${each}`)].join('; ');
  let isOpen = false;

  const inOwnTransaction: Query = async (...args) => {
    // In one round trip. If the statement fails, the commit becomes a rollback.
    const [, answer, end] = await Promise.allSettled([
      query(begin('begin')),
      query(...args),
      query('commit'),
    ]);
    if (answer.status === 'rejected') throw answer.reason;
    if (end.status === 'rejected') throw end.reason;
    return answer.value;
  };
  const run: Query = (statement, ...rest) => {
    const text = textOf(statement);
    if (text === undefined) return query(statement, ...rest); // a stream of COPY, within a transaction
    const unnamed = typeof statement === 'object' ? { ...statement, name: undefined } : statement;
    if (BEGIN.test(text) && !END.test(text)) {
      isOpen = true;
      return query(text.replace(BEGIN, begin), ...rest);
    }
    if (!isOpen) return inOwnTransaction(unnamed, ...rest);
    if (END.test(text)) isOpen = false;
    return query(unnamed, ...rest);
  };
  const runOrCall = (...args: unknown[]): unknown => {
    // The pool passes a callback.
    const callback = args.at(-1);
    if (typeof callback !== 'function') return run(...args);
    void run(...args.slice(0, -1)).then(
      (result) => process.nextTick(callback, undefined, result),
      (error) => process.nextTick(callback, error),
    );
    return undefined;
  };
  client.query = runOrCall as typeof client.query;
}

function textOf(statement: unknown): string | undefined {
  if (typeof statement === 'string') return statement;
  if (typeof statement !== 'object' || statement === null || 'submit' in statement) return undefined;
  return 'text' in statement && typeof statement.text === 'string' ? statement.text : undefined;
}
