// Runs statements with a time limit, and transactions of them on one pooled connection. Combines writes into
// one statement, and turns rows into array parameters.
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type ClientBase, type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { codeOf } from '../../../lib/caught-error.ts';
import { isDatabaseUnavailable } from './transient-errors.ts';

export type TimedClient = ClientBase & {
  /** The time limit of a statement in milliseconds; 0 for none. */
  queryTimeoutMs: number;
};

type Done = (error: Error | null | undefined, result?: QueryResult) => void;

/**
 * Replaces `query` and `query_timeout` of the driver, which stores a new function in a property for each
 * statement. V8 allocates such functions in old space, where they keep all objects of their statement alive
 * until a major collection.
 */
export function runTimed(
  this: TimedClient,
  statement: string | QueryConfig | pg.Submittable,
  values?: unknown[] | Done,
  callback?: Done,
): unknown {
  if (typeof statement === 'object' && 'submit' in statement) {
    return runByDriver(this, statement, values, callback); // a stream of COPY
  }
  const text = typeof statement === 'string' ? { text: statement } : statement;
  const config = Array.isArray(values) ? { ...text, values } : text;
  const done = typeof values === 'function' ? values : callback;
  if (done !== undefined) return start(this, config, done);
  return new Promise((resolve, reject) => {
    start(this, config, (error, result) => (error ? reject(error) : resolve(result)));
  }).catch((error) => {
    Error.captureStackTrace(error); // the original one leads to a socket
    throw error;
  });
}

function start(client: TimedClient, config: QueryConfig, done: Done): void {
  let timer: NodeJS.Timeout | undefined;
  let isDone = false;
  const callback: Done = (error, result) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(error, result);
  };
  if (client.queryTimeoutMs > 0) timer = setTimeout(giveUp, client.queryTimeoutMs, client, callback);
  holdWrites(streamOf(client));
  runByDriver(client, new pg.Query({ ...config, callback } as QueryConfig));
}

/**
 * Holds writes back until the end of the tick, so that statements of one tick share a write to the socket. A
 * write takes more CPU time of the hub than the rest of most statements.
 */
function holdWrites(stream: Duplex): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function runByDriver(client: TimedClient, ...args: unknown[]): unknown {
  return Reflect.apply(pg.Client.prototype.query, client, args);
}

/** The connection is useless: later statements wait for the same answer. */
function giveUp(client: TimedClient, done: Done): void {
  done(new Error('Query read timeout'));
  streamOf(client).destroy();
}

/** The stream between client and server. */
export function streamOf(client: ClientBase): Duplex {
  // Missing from the types.
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}

export type TransactionOptions = {
  /** Milliseconds to wait for any lock; then SQLSTATE 55P03. Default: as long as a statement may take. */
  readonly lockTimeoutMs?: number;
  /** Milliseconds that each statement may take; then SQLSTATE 57014. Default: that of `openDatabase`. */
  readonly statementTimeoutMs?: number;
};

/**
 * Sends a statement without waiting for its result, so that it shares a round trip with the following
 * statements and the commit. If it fails, the transaction fails.
 */
export type Send = (query: QueryConfig | string) => Promise<QueryResult>;

/**
 * Runs `work` and commits. After an error it rolls back, and throws the error of the first statement of
 * `send` that failed, or that of `work`.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient, send: Send) => Promise<T>,
  { lockTimeoutMs, statementTimeoutMs }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  const sent: Promise<unknown>[] = [];
  const send: Send = (query) => {
    const answer = client.query(query);
    answer.catch(() => {}); // handled below
    sent.push(answer);
    return answer;
  };
  let broken: unknown;
  try {
    const settings = [
      ...(lockTimeoutMs === undefined ? [] : [`set local lock_timeout = ${lockTimeoutMs}`]),
      ...(statementTimeoutMs === undefined ? [] : [`set local statement_timeout = ${statementTimeoutMs}`]),
    ];
    // Waits for the answer: if it failed, each of the next statements would be a transaction of its own.
    await client.query(['begin', ...settings].join('; '));
    const result = await work(client, send);
    const committed = client.query('commit');
    sent.push(committed);
    await Promise.all(sent);
    // PostgreSQL answers ROLLBACK if a statement failed, even if `work` caught the error.
    if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return result;
  } catch (error) {
    // The statements after a failed one fail because of it.
    const [first = error] = (await Promise.allSettled(sent)).flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason] : [],
    );
    await client.query('rollback').catch((rollbackError) => {
      broken = rollbackError;
    });
    throw first;
  } finally {
    client.release(broken !== undefined);
  }
}

export type RetryOptions = { readonly attempts: number; readonly lockTimeoutMs: number };

/**
 * Runs a transaction that locks whole tables. If a lock is not granted within `lockTimeoutMs`, it rolls back,
 * so that others can use the tables, and tries again. Keep `lockTimeoutMs` below PostgreSQL's
 * `deadlock_timeout`, one second by default, so that in a deadlock this transaction is the one that gives up.
 */
export async function inRetriedTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  { attempts, lockTimeoutMs }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(pool, work, { lockTimeoutMs });
    } catch (error) {
      if (attempt === attempts || !isLockFailure(error)) throw error;
      await sleep(attempt * 50);
    }
  }
}

/**
 * A lock was not granted in time, or there was a deadlock. The same work may succeed later, or on its own.
 */
export function isLockFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === '55P03' || code === '40P01';
}

/** Whether one item of a batch may have caused the error, so that the others can succeed without it. */
export function mayBeCausedByOneItem(error: unknown): boolean {
  return isLockFailure(error) || !isDatabaseUnavailable(error);
}

export type Write = Pick<QueryConfig, 'text' | 'values'>;

/**
 * Returns one named statement that does all writes. For five writes of a settlement this took 176 µs of CPU
 * time per transaction, and five statements in a pipeline took 201.
 *
 * Use a name for the same writes in the same order only. The writes do not see each other's changes, and must
 * not change the same row.
 */
export function combineWrites({ name, writes }: { name: string; writes: readonly Write[] }): QueryConfig {
  const values: unknown[] = [];
  const parts = writes.map((write, index) => {
    const offset = values.length;
    values.push(...(write.values ?? []));
    const text = write.text.replace(/\$(\d+)/g, (_, number) => `$${offset + Number(number)}`);
    return `write_${index} as (${text})`;
  });
  return { name, text: `with ${parts.join(', ')} select`, values };
}

/** One array per property, over all rows, as parameters of `unnest`. Undefined becomes null. */
export function columns<T, K extends keyof T>(rows: readonly T[], ...names: readonly K[]): T[K][][] {
  return names.map((name) => rows.map((row) => row[name]));
}
