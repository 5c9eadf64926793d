// A transaction of prepared SQL on one pooled connection.
import type { Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { isDatabaseUnavailable } from './outage.ts';

export type TransactionOptions = {
  /** Milliseconds to wait for any lock; then SQLSTATE 55P03. By default as long as a statement may take. */
  readonly lockTimeoutMs?: number;
  /** Milliseconds that each statement may take; then SQLSTATE 57014. By default as `openDatabase` says. */
  readonly statementTimeoutMs?: number;
};

/**
 * Sends a statement without waiting for its answer: those after it, the commit included, go out with it, and the server
 * takes them in order. For what has no answer to look at before the commit. If it fails, all of the transaction does.
 */
export type Send = (query: QueryConfig | string) => Promise<QueryResult>;

/** Commits what `work` did, or rolls all of it back and throws what it threw, or what first failed of what it sent. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient, send: Send) => Promise<T>,
  { lockTimeoutMs, statementTimeoutMs }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  const sent: Promise<unknown>[] = [];
  const send: Send = (query) => {
    gather(client);
    const answer = client.query(query);
    answer.catch(() => {}); // seen to below
    sent.push(answer);
    return answer;
  };
  let broken: unknown;
  try {
    // In one round trip, and waited for: without it, each statement after it would be a transaction of its own.
    const settings = [
      ...(lockTimeoutMs === undefined ? [] : [`set local lock_timeout = ${lockTimeoutMs}`]),
      ...(statementTimeoutMs === undefined ? [] : [`set local statement_timeout = ${statementTimeoutMs}`]),
    ];
    await client.query(['begin', ...settings].join('; '));
    gather(client);
    const result = await work(client, send);
    const committed = client.query('commit');
    sent.push(committed);
    await Promise.all(sent);
    // A transaction in which something failed ends in a rollback, whoever caught the failure.
    if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return result;
  } catch (error) {
    // What was asked after a failure fails for the failure's sake only.
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

/** Sends what is asked until the end of this tick in one piece: a system call for each statement costs as much as the statement. */
function gather(client: PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection; // missing from the types
  stream.cork();
  process.nextTick(() => stream.uncork());
}

export type Patience = { readonly attempts: number; readonly lockTimeoutMs: number };

/**
 * The same for what locks whole tables, which others read and write meanwhile: it gives way, and tries again. `lockTimeoutMs`
 * is less than PostgreSQL's `deadlock_timeout`, a second by default, so that of those who wait in a circle with it nobody
 * else is made to give up.
 */
export async function inPatientTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  { attempts, lockTimeoutMs }: Patience,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(pool, work, { lockTimeoutMs });
    } catch (error) {
      if (attempt === attempts || !isLockTrouble(error)) throw error;
      await setTimeout(attempt * 50);
    }
  }
}

/** Somebody else held a lock for too long, or in a circle: alone, or a moment later, the same work may well succeed. */
export function isLockTrouble(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === '55P03' || code === '40P01';
}

/** Of several in one transaction: whatever is wrong with one of them, or whoever holds its row, the others shall not fail for it. */
export function mayBeOfOne(error: unknown): boolean {
  return isLockTrouble(error) || !isDatabaseUnavailable(error);
}
