// Fills a new column of every license while another client updates licenses, as CONTRIBUTING.md describes it.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { inTransaction, isLockFailure } from '../../../core/storage/sql/transaction.ts';
import { codeOf } from '../../../lib/caught-error.ts';
import { withClient } from '../../support/postgres/databases.ts';

export type Backfill = {
  /** All steps, from the new column to its index. */
  readonly ms: number;
  readonly longestBatchMs: number;
  /** The longest update of one license by the other client. */
  readonly longestUpdateMs: number;
};

/** The first batch. Each one is half as large as the last if that took too long, and grows by a tenth if not. */
const FIRST_BATCH = 500;
/** A longer batch halves the next one. A client that updates one of its licenses waits until it commits. */
const TARGET_BATCH_MS = 250;
/** PostgreSQL cancels a batch that takes longer, for example because the disk stalls. */
const TIMEOUT_MS = 500;
/** The batch waits no longer for a row that another transaction has locked. */
const LOCK_TIMEOUT_MS = 200;
/** SQLSTATE of a statement that ran into its time limit. */
const QUERY_CANCELED = '57014';
/** In a row. The batch is down to one license by then. */
const MAX_FAILURES = 50;
/** Before each update of the other client. */
const PAUSE_MS = 5;
/** The batches begin after it. */
const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

/** Removes the column in the end. */
export async function measureBackfill(databaseUrl: string): Promise<Backfill> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const end = new AbortController();
    const begun = performance.now();
    const [longestBatchMs, longestUpdateMs] = await Promise.all([
      backfill(pool).finally(() => end.abort()),
      updateLicenses(databaseUrl, end.signal),
    ]);
    const ms = performance.now() - begun;
    await pool.query('alter table license drop column backfilled');
    return { ms, longestBatchMs, longestUpdateMs };
  } finally {
    await pool.end();
  }
}

/** Returns the duration of the longest batch. */
async function backfill(pool: pg.Pool): Promise<number> {
  // A statement that waits for an exclusive lock blocks all later ones.
  const alter = (change: string) =>
    inTransaction(pool, (client) => client.query(`alter table license ${change}`), { lockTimeoutMs: 1_000 });
  await alter('add column backfilled text');
  const longestMs = await fillRows(pool);
  // A running autovacuum would block the next statement, and all later ones, for a second. Changing this setting
  // cancels it without blocking others.
  await pool.query('alter table license set (autovacuum_enabled = off)');
  try {
    await alter('add constraint license_backfilled_present check (backfilled is not null) not valid');
    // Reads the table without blocking writes.
    await alter('validate constraint license_backfilled_present');
    // Reads no row, because the constraint proves it.
    await alter('alter column backfilled set not null');
    await alter('drop constraint license_backfilled_present');
  } finally {
    await pool.query('alter table license reset (autovacuum_enabled)');
  }
  // Waits for all transactions that began before it.
  await pool.query('create index concurrently license_backfilled_idx on license (backfilled, id)');
  return longestMs;
}

/** Fills the column of all rows, and returns the duration of the longest batch. */
async function fillRows(pool: pg.Pool): Promise<number> {
  let failures = 0;
  let longestMs = 0;
  let size = FIRST_BATCH;
  for (let after: string | undefined = LOWEST_ID; after !== undefined; ) {
    const begun = performance.now();
    const batch = await fillBatch(pool, after, size);
    const ms = performance.now() - begun;
    longestMs = Math.max(longestMs, ms);
    const isTooLarge = batch === 'canceled' || ms > TARGET_BATCH_MS;
    size = Math.ceil(isTooLarge ? size / 2 : size * 1.1);
    if (batch !== 'canceled') {
      after = batch.last;
      failures = 0;
    } else if (++failures === MAX_FAILURES) {
      throw new Error(`no batch after license ${after} succeeds: another transaction locks one of its rows`);
    } else {
      await pause(LOCK_TIMEOUT_MS);
    }
  }
  return longestMs;
}

/** `canceled`: it took or waited too long, and changed nothing. `last` is undefined for the last batch. */
async function fillBatch(
  pool: pg.Pool,
  after: string,
  size: number,
): Promise<{ readonly last: string | undefined } | 'canceled'> {
  const fill = async (client: pg.ClientBase) => {
    const last = await lastOfBatch(client, after, size);
    await client.query({
      name: 'backfill',
      text: `update license set backfilled = key_hint where id > $1 and ($2::uuid is null or id <= $2)`,
      values: [after, last],
    });
    return { last };
  };
  try {
    return await inTransaction(pool, fill, {
      lockTimeoutMs: LOCK_TIMEOUT_MS,
      statementTimeoutMs: TIMEOUT_MS,
    });
  } catch (error) {
    if (isLockFailure(error) || codeOf(error) === QUERY_CANCELED) return 'canceled';
    throw error;
  }
}

/** Undefined for the last batch. */
async function lastOfBatch(client: pg.ClientBase, after: string, size: number): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>({
    name: 'last_of_batch',
    text: `select id from license where id > $1 order by id offset $2::int - 1 limit 1`,
    values: [after, size],
  });
  return rows[0]?.id;
}

/** Updates licenses one after the other until the signal. Resolves with the longest update in milliseconds. */
function updateLicenses(databaseUrl: string, end: AbortSignal): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select id from license tablesample bernoulli (${SAMPLE_PERCENT}) limit 1000`,
    );
    let longestMs = 0;
    for (let turn = 0; !end.aborted; turn++) {
      await pause(PAUSE_MS);
      const begun = performance.now();
      await client.query({
        name: 'update_license',
        text: 'update license set terms_version = terms_version where id = $1',
        values: [rows[turn % rows.length]?.id],
      });
      longestMs = Math.max(longestMs, performance.now() - begun);
    }
    return longestMs;
  });
}

const SAMPLE_PERCENT = 1;
