// A connection through a pooler that gives each transaction whichever session is free: PgBouncer with pool_mode = transaction.
//
// Nothing may be left in a session, and nothing may be expected there: somebody else had it before, and has it next. So each
// transaction begins with its own settings, in the same round trip, and no statement is prepared under a name.
import type { ClientBase } from 'pg';

type Query = (...args: unknown[]) => Promise<unknown>;

const BEGIN = /^\s*(?:begin|start\s+transaction)\b[^;]*/i;
/** The end of a transaction at the end of a text, but no `rollback to` a savepoint. */
const END = /(?:^|;)\s*(?:commit|rollback)\s*;?\s*$/i;

/**
 * Makes a transaction of each statement outside of one.
 *
 * @param settings What `set local` takes, such as `lock_timeout = 0`, as it is when a transaction begins.
 */
export function keepNoSessionState(client: ClientBase, settings: () => readonly string[]): void {
  const query: Query = client.query.bind(client);
  const begin = (text: string): string => [text, ...settings().map((each) => `set local ${each}`)].join('; ');
  let isOpen = false;

  const inOwnTransaction: Query = async (...args) => {
    // In one round trip: what fails makes a rollback of the commit.
    const [, answer, end] = await Promise.allSettled([
      query(begin('begin')),
      query(...args),
      query('commit'),
    ]);
    if (answer.status === 'rejected') throw answer.reason;
    if (end.status === 'rejected') throw end.reason;
    return answer.value;
  };
  const ask: Query = (asked, ...rest) => {
    const text = textOf(asked);
    if (text === undefined) return query(asked, ...rest); // a stream of COPY, within a transaction
    const unnamed = typeof asked === 'object' ? { ...asked, name: undefined } : asked;
    if (BEGIN.test(text) && !END.test(text)) {
      isOpen = true;
      return query(text.replace(BEGIN, begin), ...rest);
    }
    if (!isOpen) return inOwnTransaction(unnamed, ...rest);
    if (END.test(text)) isOpen = false;
    return query(unnamed, ...rest);
  };
  const answered = (...args: unknown[]): unknown => {
    // The pool asks by callback.
    const callback = args.at(-1);
    if (typeof callback !== 'function') return ask(...args);
    void ask(...args.slice(0, -1)).then(
      (result) => process.nextTick(callback, undefined, result),
      (error) => process.nextTick(callback, error),
    );
    return undefined;
  };
  client.query = answered as typeof client.query;
}

function textOf(asked: unknown): string | undefined {
  if (typeof asked === 'string') return asked;
  const isStatement = typeof asked === 'object' && asked !== null && 'text' in asked && !('submit' in asked);
  return isStatement && typeof asked.text === 'string' ? asked.text : undefined;
}
