// The monthly partitions of the tables that grow: made ahead, so that no row has to wait for one.
//
// Partitioned by ids, which are UUIDv7 and begin with their time. What has no partition of its month lies in the
// default one, and is moved when the month's is made.

import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../metrics/tasks.ts';
import type { Clock } from '../clock.ts';
import { takeLock } from './hub-lock.ts';
import { inPatientTransaction } from './transaction.ts';

/** A month in UTC, `2026-01`. */
export type Month = string;

export function monthOf(time: Date): Month {
  return time.toISOString().slice(0, -17);
}

/** Smaller than every id of the month, larger than every one before. */
export async function floorOf(db: Pool | PoolClient, month: Month): Promise<string> {
  const { rows } = await db.query<{ floor: string }>('select partition_floor($1::date) as floor', [
    `${month}-01`,
  ]);
  return rows[0]?.floor ?? '';
}

export type Partition = {
  readonly table: string;
  readonly month: Month;
  /** The column of ids that it is a range of. */
  readonly key: string;
  /** Name of the partition. */
  readonly name: string;
  /** On disk, with its indexes. */
  readonly bytes: number;
};

/**
 * Of the partitioned tables `t` with the rows `p` in pg_class, those of the hub that are partitioned by month: each has a
 * default partition. The tables of the job queue are not.
 */
export const BY_MONTH =
  "p.relnamespace = quote_ident(current_schema())::regnamespace and t.partstrat = 'r' and t.partdefid <> 0";

/** The partitions there are, by month and table; without the default ones. */
export async function listPartitions(db: Pool | PoolClient): Promise<Partition[]> {
  const { rows } = await db.query<Omit<Partition, 'bytes'> & { bytes: string }>(
    `select p.relname as "table", c.relname as name, replace(right(c.relname, 7), '_', '-') as month, a.attname as key,
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

/** Months ahead of this one whose partitions are made. */
export const AHEAD = 3;
const EVERY_MS = 24 * 60 * 60 * 1000;
const RETRY_MS = 60 * 1000;

/**
 * Makes the partitions that are missing: of this month, of the next ones, and of those that rows of the default
 * partitions belong to. Returns how many were made.
 */
export async function makePartitions(pool: Pool, now: Date): Promise<number> {
  const { rows } = await pool.query<{ parent: string; months: string[] }>(
    `select parent, array_agg(month::text order by month) as months from (
       select p.relname as parent, unnest(months_astray(p.relname) || ahead.months) as month
       from pg_partitioned_table t
       join pg_class p on p.oid = t.partrelid and ${BY_MONTH}
       cross join (
         select array_agg((date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval '1 month')::date) as months
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

/** Everybody who wants the table waits while this does. */
const PATIENCE = { attempts: 8, lockTimeoutMs: 400 };

function makePartitionsOf(pool: Pool, parent: string, months: readonly string[]): Promise<number> {
  return inPatientTransaction(
    pool,
    async (client) => {
      await takeLock(client, 'partitions');
      const { rows } = await client.query<{ made: number }>(
        'select make_month_partitions($1, $2::date[]) as made',
        [parent, months],
      );
      return rows[0]?.made ?? 0;
    },
    PATIENCE,
  );
}

export type PartitionKeeper = { stop(): Promise<void> };

export type PartitionKeeperOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
};

/**
 * Makes partitions now, before it returns, and once a day. What cannot be made is tried again soon; rows go to the
 * default meanwhile.
 */
export async function keepPartitions({
  pool,
  clock,
  logger,
  task,
}: PartitionKeeperOptions): Promise<PartitionKeeper> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const pass = async (): Promise<void> => {
    let nextMs = EVERY_MS;
    try {
      const made = await makePartitions(pool, clock());
      if (made > 0) logger.info({ made }, 'partitions made');
      task.succeeded();
    } catch (error) {
      task.failed();
      nextMs = RETRY_MS;
      logger.warn({ err: error }, 'partitions could not be made; the default ones take the rows meanwhile');
    }
    if (stopped) return;
    timer = setTimeout(() => {
      running = pass();
    }, nextMs);
  };
  await pass();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
