// The queue of callbacks that were not dealt with at once: pg-boss, in the same database.

import pg, { type ClientBase, type Pool, type PoolClient } from 'pg';
import { getConstructionPlans, type Job, PgBoss } from 'pg-boss';
import type { Database } from '../storage/database.ts';
import { takeBootstrapLock } from '../storage/hub-lock.ts';
import { inTransaction } from '../storage/transaction.ts';

export type Jobs = {
  /** Queues callbacks at once; one that has a job, or had one a while ago, keeps that. */
  enqueue(callbackIds: readonly string[]): Promise<void>;
  /** Queues a callback whose own job is over, in the caller's transaction. */
  requeue(client: PoolClient, callbackId: string): Promise<void>;
  /**
   * Begins to deal with jobs, the oldest first, without regard to whose they are: a handler asks the database, never a
   * provider. One that throws is called again, later and later.
   */
  work(handler: (callbackId: string) => Promise<void>): Promise<void>;
  /** Waits for the jobs under way, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

export type JobsOptions = {
  readonly pool: Pool;
  /** Where the tables of the queue are: beside those of the hub. */
  readonly schema: string;
  /** How long a replay has its callback to itself. */
  readonly startAfterMs: number;
  /** How long an attempt may take before the hub that makes it is taken for dead. */
  readonly expireAfterMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly onError: (error: Error) => void;
};

export const QUEUE = 'callback';
// The handler gives up after a day, by the callback's own age; the queue never does.
const RETRY_LIMIT = 1_000;
const WORKERS = 8;

export async function createJobs(options: JobsOptions): Promise<Jobs> {
  const { pool, schema, startAfterMs, expireAfterMs, retryDelayMs, retryDelayMaxMs, onError } = options;
  const boss = new PgBoss({
    db: executor(pool),
    schema: pg.escapeIdentifier(schema),
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    queueCacheIntervalSeconds: 1,
    schedule: false,
    // Nobody reads them, and partitions by day take an owner.
    persistQueueStats: false,
  });
  boss.on('error', onError);
  await boss.start();
  const policy = {
    retryLimit: RETRY_LIMIT,
    retryBackoff: true,
    retryDelay: seconds(retryDelayMs),
    retryDelayMax: seconds(retryDelayMaxMs),
    expireInSeconds: seconds(expireAfterMs),
    deleteAfterSeconds: 3_600,
  };
  await boss.createQueue(QUEUE, policy);
  await boss.updateQueue(QUEUE, policy);

  return {
    async enqueue(callbackIds) {
      await boss.insert(
        QUEUE,
        callbackIds.map((id) => ({ id, data: { callbackId: id } })),
      );
    },
    async requeue(client, callbackId) {
      // Under an id of its own: the queue remembers the job of the callback for a while.
      await boss.insert(QUEUE, [{ data: { callbackId }, startAfter: seconds(startAfterMs) }], {
        db: executor(client),
      });
    },
    async work(handler) {
      // As long as there is a backlog, nobody pauses between two jobs: after an outage there are thousands.
      const options = {
        batchSize: 1,
        localConcurrency: WORKERS,
        pollingIntervalSeconds: 1,
        burstWhenReadyExceeds: 1,
      } as const;
      await boss.work<{ callbackId: string }>(QUEUE, options, async (jobs: Job<{ callbackId: string }>[]) => {
        for (const job of jobs) await handler(job.data.callbackId);
      });
    },
    async stop(graceMs) {
      await boss.stop({ graceful: true, timeout: graceMs });
    },
  };
}

const PLANS_SCHEMA = 'schema_of_jobs';

/** The tables of the queue, without their partitions. */
export const JOB_TABLES: readonly string[] = Array.from(
  getConstructionPlans(PLANS_SCHEMA).matchAll(/create table (?:if not exists )?schema_of_jobs\.(\w+)/gi),
  ([, name = '']) => name,
);

/** SQLSTATEs: there is a table, a type or a function of this name. */
const EXISTS = ['42P07', '42710', '42723'];

/** Makes the queue's tables where there are none. Of hubs that start together one makes them, and the others wait. */
export async function prepareJobTables({ pool, schema }: Pick<Database, 'pool' | 'schema'>): Promise<void> {
  await inTransaction(pool, async (client) => {
    await takeBootstrapLock((statement) => client.query(statement), 'job_tables');
    // Read as rows: to_regclass may remember that it found nothing before the wait for the lock.
    const { rows } = await client.query(
      `select from pg_tables where schemaname = $1 and tablename in ('job', 'queue', 'version')`,
      [schema],
    );
    if (rows.length === 3) return;
    // The plans end with a commit, which ends the lock when the tables are there.
    const plans = getConstructionPlans(pg.escapeIdentifier(schema), { createSchema: false });
    await client.query(plans.replace(ADVISORY_LOCK, 'SELECT')).catch((error) => {
      if (!EXISTS.includes(error.code)) throw error;
      throw new Error(
        `the schema ${schema} has something else under a name that the hub's job queue needs (${error.message}): ` +
          'rename it, or give the hub a schema of its own with HUB_DATABASE_SCHEMA',
        { cause: error },
      );
    });
  });
}

/** Makes the queue where it is missing, so that jobs can be put into it. A hub that starts gives it its policy. */
export async function prepareQueue(client: ClientBase): Promise<void> {
  await client.query(`select create_queue($1, '{"policy": "standard"}')`, [QUEUE]);
}

/** The interface pg-boss asks of a database, on a pool or inside of a transaction. */
function executor(db: Pool | PoolClient) {
  return {
    async executeSql(text: string, values?: unknown[]) {
      return db.query(withRowLocks(text), values);
    },
  };
}

const ADVISORY_LOCK = /SELECT pg_advisory_xact_lock\(.*\)(?=;)/;
const TRY_ADVISORY_LOCK = /SELECT pg_try_advisory_xact_lock\(.*\) AS got/;

/**
 * pg-boss takes advisory locks, which everybody who may connect can hold: jobs that timed out would then never be tried
 * again. Rows of hub_lock take their place.
 */
export function withRowLocks(text: string): string {
  if (!text.includes('advisory')) return text;
  return text
    .replace(ADVISORY_LOCK, "SELECT name FROM hub_lock WHERE name = 'job_queue' FOR UPDATE")
    .replace(
      TRY_ADVISORY_LOCK,
      "SELECT (SELECT true FROM hub_lock WHERE name = 'job_stats' FOR UPDATE SKIP LOCKED) AS got",
    );
}

/** pg-boss counts in whole seconds. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
