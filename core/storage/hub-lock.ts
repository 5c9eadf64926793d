// Locks between hubs. They are rows of hub_lock, which only a role with the privilege to update that table
// can lock; any role that can connect to the database can hold an advisory lock.
import type { ClientBase, QueryResult } from 'pg';
import { codeOf } from '../../lib/caught-error.ts';

/**
 * `schema`: migrations. `job_tables`: creating the tables of the queue. `license_import`: one import at a
 * time. `event_counter`: numbering events. For the locks of the queue see job-queue.ts.
 */
export type LockName =
  | 'audit_chain'
  | 'event_counter'
  | 'job_tables'
  | 'license_import'
  | 'partitions'
  | 'schema';

/** Another session held a lock for too long. `code` is SQLSTATE 55P03, on which callers retry. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly code = '55P03';
}

/** Holds a lock until the end of the transaction, unless another one holds it. */
export async function tryLock(client: ClientBase, name: LockName): Promise<boolean> {
  // hub_lock_pkey
  const { rowCount } = await client.query(
    `select from hub_lock where name = '${name}' for update skip locked`,
  );
  return rowCount === 1;
}

type Run = (statement: string) => Promise<Pick<QueryResult, 'rows'>>;

/**
 * Holds a lock until the end of the transaction.
 *
 * @param waitMs Milliseconds to wait. Default: the lock time-out of the transaction.
 * @throws LockHeld with a query that finds the session
 */
export function takeLock(client: ClientBase, name: LockName, waitMs?: number): Promise<void> {
  return lockRow((statement) => client.query(statement), name, waitMs);
}

// For databases without the table hub_lock. The constants are arbitrary.
const ADVISORY = { schema: 4_715_099, job_tables: 4_715_102 } as const;
const ADVISORY_WAIT_MS = 60_000;
const SCHEMA_WAIT_MS = 10 * 60_000;

/** Takes the row lock, or an advisory lock if hub_lock does not exist yet. Waits 10 minutes or 1 minute. */
export async function takeBootstrapLock(
  run: Run,
  name: keyof typeof ADVISORY,
  advisoryWaitMs = ADVISORY_WAIT_MS,
): Promise<void> {
  const { rows } = await run(`select to_regclass('hub_lock') is not null as exists`);
  if (rows[0]?.exists === true) return lockRow(run, name, SCHEMA_WAIT_MS);
  const key = ADVISORY[name];
  await withTimeout(run, advisoryWaitMs, () => run(`select pg_advisory_xact_lock(${key})`)).catch((error) => {
    throw toLockHeld(error, `advisory lock ${key} (${name})`, `locktype = 'advisory' and objid = ${key}`);
  });
}

async function lockRow(run: Run, name: LockName, waitMs: number | undefined): Promise<void> {
  const lock = () => run(`select name from hub_lock where name = '${name}' for update`); // hub_lock_pkey
  const { rows } = await (waitMs === undefined ? lock() : withTimeout(run, waitMs, lock)).catch((error) => {
    throw toLockHeld(error, `row "${name}" of hub_lock`, `relation = 'hub_lock'::regclass`);
  });
  if (rows.length === 1) return;
  throw new Error(`the table hub_lock has no row "${name}": insert into hub_lock values ('${name}')`);
}

async function withTimeout<T>(run: Run, waitMs: number, work: () => Promise<T>): Promise<T> {
  const { rows } = await run(`select current_setting('lock_timeout') as before`);
  await run(`set local lock_timeout = ${waitMs}`);
  const result = await work();
  await run(`set local lock_timeout = '${rows[0]?.before ?? 0}'`);
  return result;
}

/** 55P03: lock_timeout. 57014: statement_timeout, which may be shorter. */
function toLockHeld(error: unknown, lock: string, where: string): unknown {
  const code = codeOf(error);
  if (code !== '55P03' && code !== '57014') return error;
  return new LockHeld(
    `another session holds the ${lock} for too long. To find it: select pid, usename, ` +
      'application_name, client_addr ' +
      `from pg_stat_activity where pid in (select pid from pg_locks where ${where})`,
    { cause: error },
  );
}
