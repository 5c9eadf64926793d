// The queue of callbacks that were not dealt with at once: pg-boss, in the same database.

import type { Pool, PoolClient } from 'pg';
import { getConstructionPlans, type Job, PgBoss } from 'pg-boss';

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
  /** How long a replay has its callback to itself. */
  readonly startAfterMs: number;
  /** How long an attempt may take before the hub that makes it is taken for dead. */
  readonly expireAfterMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly onError: (error: Error) => void;
};

/** Where the queue's tables are. */
export const JOB_SCHEMA = 'job';

export const QUEUE = 'callback';
// The handler gives up after a day, by the callback's own age; the queue never does.
const RETRY_LIMIT = 1_000;
const WORKERS = 8;
// Any constant will do, as long as nothing else in the database uses it.
const CONSTRUCTION_LOCK = 4_715_102;

export async function createJobs(options: JobsOptions): Promise<Jobs> {
  const { pool, startAfterMs, expireAfterMs, retryDelayMs, retryDelayMaxMs, onError } = options;
  const boss = new PgBoss({
    db: executor(pool),
    schema: JOB_SCHEMA,
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

/** Makes the queue's tables where there are none. Of hubs that start together one makes them, and the others wait. */
export async function prepareJobTables(pool: Pool): Promise<void> {
  const client = await pool.connect();
  let done = false;
  try {
    // For the session, not for a transaction: what another hub made meanwhile shows to a transaction begun after it.
    await client.query('select pg_advisory_lock($1)', [CONSTRUCTION_LOCK]);
    const { rows } = await client.query('select to_regclass($1) is not null as there', [
      `${JOB_SCHEMA}.version`,
    ]);
    if (!rows[0].there) await client.query(getConstructionPlans(JOB_SCHEMA, { createSchema: true }));
    await client.query('select pg_advisory_unlock($1)', [CONSTRUCTION_LOCK]);
    done = true;
  } finally {
    client.release(!done);
  }
}

/** The interface pg-boss asks of a database, on a pool or inside of a transaction. */
function executor(db: Pool | PoolClient) {
  return {
    async executeSql(text: string, values?: unknown[]) {
      return db.query(text, values);
    },
  };
}

/** pg-boss counts in whole seconds. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
