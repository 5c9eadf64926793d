// Creates the monthly partitions of the large tables ahead of time. Tables are partitioned by id. Ids are
// UUIDv7 and begin with their time. A row without a partition of its month is in the default partition, and
// moves when the partition is created.

import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { type Clock, DAY_MS } from '../../clock.ts';
import { takeLock } from '../hub-lock.ts';
import { inRetriedTransaction } from '../sql/transaction.ts';

/** A month in UTC, `2026-01`. */
export type Month = string;

export function monthOf(time: Date): Month {
  return time.toISOString().slice(0, -17);
}

/** The smallest possible id of the month. */
export async function floorOf(db: Pool | PoolClient, month: Month): Promise<string> {
  const { rows } = await db.query<{ floor: string }>('select partition_floor($1::date) as floor', [
    `${month}-01`,
  ]);
  return rows[0]?.floor ?? '';
}

export type Partition = {
  readonly table: string;
  readonly month: Month;
  /** The column that the table is partitioned by. */
  readonly key: string;
  readonly name: string;
  /** On disk, with its indexes. */
  readonly bytes: number;
};

/**
 * SQL condition on pg_partitioned_table `t` and pg_class `p`: the tables of the hub that are partitioned by
 * month. They have a default partition; those of the job queue have none.
 */
export const BY_MONTH =
  "p.relnamespace = quote_ident(current_schema())::regnamespace and t.partstrat = 'r' and t.partdefid <> 0";

/** All partitions by month and table, without the default partitions. */
export async function listPartitions(db: Pool | PoolClient): Promise<Partition[]> {
  const { rows } = await db.query<Omit<Partition, 'bytes'> & { bytes: string }>(
    `select p.relname as "table", c.relname as name, replace(right(c.relname, 7), '_', '-') as month,
      a.attname as key,
            pg_total_relation_size(c.oid) as bytes
     from pg_partitioned_table t
     join pg_class p on p.oid = t.partrelid and ${BY_MONTH}
     join pg_attribute a on a.attrelid = p.oid and a.attnum = t.partattrs[0]
     join pg_inherits i on i.inhparent = p.oid
     join pg_class c on c.oid = i.inhrelid and c.oid <> t.partdefid
     order by month, "table"`,
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** Number of months after the current one that get partitions. */
export const AHEAD = 3;
const EVERY_MS = DAY_MS;
const RETRY_MS = 60 * 1000;

/**
 * Creates missing partitions for this month, the next ones, and the months of rows in the default partitions.
 * Returns how many it created.
 */
export async function makePartitions(pool: Pool, now: Date): Promise<number> {
  const { rows } = await pool.query<{ parent: string; months: string[] }>(
    `select parent, array_agg(month::text order by month) as months from (
       select p.relname as parent, unnest(months_astray(p.relname) || ahead.months) as month
       from pg_partitioned_table t
       join pg_class p on p.oid = t.partrelid and ${BY_MONTH}
       cross join (
         select array_agg((date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval
           '1 month')::date) as months
         from generate_series(0, ${AHEAD}) n
       ) ahead
     ) wanted
     where to_regclass(parent || to_char(month, '_YYYY_MM')) is null
     group by parent order by parent`,
    [now],
  );
  let made = 0;
  for (const { parent, months } of rows) made += await makePartitionsOf(pool, parent, months);
  return made;
}

/** Other transactions on the table wait while this one does. */
const RETRY_OPTIONS = { attempts: 8, lockTimeoutMs: 400 };

function makePartitionsOf(pool: Pool, parent: string, months: readonly string[]): Promise<number> {
  return inRetriedTransaction(
    pool,
    async (client) => {
      await takeLock(client, 'partitions');
      const { rows } = await client.query<{ made: number }>(
        'select make_month_partitions($1, $2::date[]) as made',
        [parent, months],
      );
      return rows[0]?.made ?? 0;
    },
    RETRY_OPTIONS,
  );
}

export type PartitionKeeperOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
};

/**
 * Creates partitions now, before it returns, and once a day. After a failure it retries soon; rows go to the
 * default partition meanwhile.
 */
export async function keepPartitions({ pool, clock, logger, task }: PartitionKeeperOptions) {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const pass = async (): Promise<void> => {
    let nextMs = EVERY_MS;
    try {
      const made = await makePartitions(pool, clock());
      if (made > 0) logger.info({ made }, 'created partitions');
      task.succeeded();
    } catch (error) {
      task.failed();
      nextMs = RETRY_MS;
      logger.warn({ err: error }, 'cannot create partitions; rows go to the default partitions');
    }
    if (stopped) return;
    timer = setTimeout(() => {
      running = pass();
    }, nextMs);
  };
  await pass();
  return {
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
