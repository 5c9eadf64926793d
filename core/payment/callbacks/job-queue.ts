// The job queue of callbacks that were not processed at once: pg-boss, in the hub's database.
import { setTimeout } from 'node:timers/promises';
import pg, { type ClientBase, type Pool, type PoolClient } from 'pg';
import { getConstructionPlans, type Job, PgBoss } from 'pg-boss';
import type { Database } from '../../storage/database.ts';
import { takeBootstrapLock } from '../../storage/hub-lock.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { RETRY_DELAY_MAX_MS } from '../provider-retry-delay.ts';

export type Jobs = Awaited<ReturnType<typeof createJobs>>;

export type JobsOptions = {
  readonly pool: Pool;
  /** The schema of the queue's tables: the hub's. */
  readonly schema: string;
  /** The delay of a replay's job, so that the replay itself comes first. */
  readonly startAfterMs: number;
  /** Milliseconds after which the hub that runs a job is taken for dead. */
  readonly expireAfterMs: number;
  readonly retryDelayMs: number;
  readonly onError: (error: Error) => void;
};

export const QUEUE = 'callback';
// High enough that the queue never gives up first: the handler gives up a day after the callback arrived.
const RETRY_LIMIT = 1_000;
/**
 * Each worker has one of these polling intervals. Several workers, so that a job that waits does not delay
 * others. Different intervals, so that after their first poll the workers do not all poll at the same time.
 */
const POLLING_INTERVALS_SECONDS = [1.7, 1.9, 2.1, 2.3];
const BATCH_SIZE = 2;
/** How often pg-boss retries the jobs of dead hubs and counts all jobs. It reads the whole table for this. */
const SUPERVISE_SECONDS = 10;

export async function createJobs(options: JobsOptions) {
  const { pool, schema, startAfterMs, expireAfterMs, retryDelayMs, onError } = options;
  const boss = new PgBoss({
    db: executor(pool),
    schema: pg.escapeIdentifier(schema),
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    schedule: false,
    maintenanceIntervalSeconds: 3_600,
    // The hub does not use these statistics. Their partitions by day need the rights of the tables' owner.
    persistQueueStats: false,
  });
  boss.on('error', onError);
  await boss.start();
  const policy = {
    retryLimit: RETRY_LIMIT,
    retryBackoff: true,
    retryDelay: seconds(retryDelayMs),
    retryDelayMax: seconds(RETRY_DELAY_MAX_MS),
    expireInSeconds: seconds(expireAfterMs),
    deleteAfterSeconds: 3_600,
  };
  await boss.createQueue(QUEUE, policy);
  await boss.updateQueue(QUEUE, policy);

  return {
    /** Enqueues callbacks. One with a job gets no second one, nor for one to two hours after the job. */
    async enqueue(callbackIds: readonly string[]): Promise<void> {
      await boss.insert(
        QUEUE,
        callbackIds.map((id) => ({ id, data: { callbackId: id } })),
      );
    },
    /** Enqueues a callback again after its job ended, in the caller's transaction. */
    async requeue(client: PoolClient, callbackId: string): Promise<void> {
      // With a new id, because the queue remembers the ended job of the callback for an hour.
      await boss.insert(QUEUE, [{ data: { callbackId }, startAfter: seconds(startAfterMs) }], {
        db: executor(client),
      });
    },
    /**
     * Starts to process jobs, the oldest first. A job whose handler rejects is retried with growing delays.
     * All slots share the queue: a handler calls a provider only for a sale that was made without the hub.
     */
    async work(handler: (callbackId: string) => Promise<void>): Promise<void> {
      const options = {
        batchSize: BATCH_SIZE,
        // No pause between jobs while there is a backlog: after an outage there are thousands.
        burstWhenBatchFull: true,
      } as const;
      const processJobs = async (jobs: readonly Job<{ callbackId: string }>[]): Promise<void> => {
        const outcomes = await Promise.allSettled(
          jobs.map((job) => handler(job.data.callbackId).catch((error) => boss.fail(QUEUE, job, error))),
        );
        // After an error, pg-boss fails all jobs of the batch. Else it completes those that have not failed.
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
      };
      for (const pollingIntervalSeconds of POLLING_INTERVALS_SECONDS) {
        await boss.work(QUEUE, { ...options, pollingIntervalSeconds }, processJobs);
      }
    },
    /** Waits at most `graceMs` for the jobs in progress. */
    async stop(graceMs: number): Promise<void> {
      // A graceful stop of pg-boss checks only every 500 ms whether the jobs have ended.
      const graceEnded = new AbortController();
      const grace = setTimeout(graceMs, undefined, { signal: graceEnded.signal }).catch(() => {});
      await Promise.race([boss.offWork(QUEUE), grace]);
      graceEnded.abort();
      await boss.stop({ graceful: false });
    },
  };
}

const PLANS_SCHEMA = 'schema_of_jobs';

/** The tables of the queue, without their partitions. */
export const JOB_TABLES: readonly string[] = Array.from(
  getConstructionPlans(PLANS_SCHEMA).matchAll(/create table (?:if not exists )?schema_of_jobs\.(\w+)/gi),
  ([, name = '']) => name,
);

/** SQLSTATEs: a table, a type or a function of this name exists. */
const EXISTS = ['42P07', '42710', '42723'];

/** Creates the queue's tables if they are missing. Of hubs that start together, one creates them. */
export async function prepareJobTables({ pool, schema }: Pick<Database, 'pool' | 'schema'>): Promise<void> {
  await inTransaction(pool, async (client) => {
    await takeBootstrapLock((statement) => client.query(statement), 'job_tables');
    // Not to_regclass, which may have cached before the lock that there is no table.
    const { rows } = await client.query(
      `select from pg_tables where schemaname = $1 and tablename in ('job', 'queue', 'version')`,
      [schema],
    );
    if (rows.length === 3) return;
    // The plans end with a commit, which releases the lock once the tables exist.
    const plans = getConstructionPlans(pg.escapeIdentifier(schema), { createSchema: false });
    await client.query(plans.replace(ADVISORY_LOCK, 'SELECT')).catch((error) => {
      if (!EXISTS.includes(error.code)) throw error;
      throw new Error(
        `the schema ${schema} has something else under a name that the hub's job queue needs ` +
          `(${error.message}): ` +
          'rename it, or give the hub a schema of its own with HUB_DATABASE_SCHEMA',
        { cause: error },
      );
    });
  });
}

/** Creates the queue if it is missing. A starting hub sets its policy. */
export async function prepareQueue(client: ClientBase): Promise<void> {
  await client.query(`select create_queue($1, '{"policy": "standard"}')`, [QUEUE]);
}

/** The database interface of pg-boss, on a pool or in a transaction. */
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
 * Replaces the advisory locks of pg-boss by rows of hub_lock. Any role that can connect could hold an
 * advisory lock, and jobs that timed out would then never be retried.
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

/** pg-boss takes whole seconds. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
