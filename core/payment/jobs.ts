// The queue of callbacks that are still to be dealt with: pg-boss, in the same database.

import type { Pool, PoolClient } from 'pg';
import { type Job, PgBoss } from 'pg-boss';

export type Jobs = {
  /** Queues callbacks in the caller's transaction: journal row and job are written together or not at all. */
  enqueue(client: PoolClient, callbackIds: readonly string[]): Promise<void>;
  /** Takes the job of a callback back that was dealt with already. */
  remove(callbackId: string): Promise<void>;
  /** Queues a callback whose own job is over, in the caller's transaction. */
  requeue(client: PoolClient, callbackId: string): Promise<void>;
  /** Begins to deal with jobs. A handler that throws is called again, later and later. */
  work(handler: (callbackId: string) => Promise<void>): Promise<void>;
  /** Waits for the jobs under way, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

export type JobsOptions = {
  readonly pool: Pool;
  /** How long the inline attempt has the callback to itself. */
  readonly startAfterMs: number;
  /** How long an attempt may take before the hub that makes it is taken for dead. */
  readonly expireAfterMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly onError: (error: Error) => void;
};

const QUEUE = 'callback';
// The handler gives up after a day, by the callback's own age; the queue never does.
const RETRY_LIMIT = 1_000;
const WORKERS = 8;

export async function createJobs(options: JobsOptions): Promise<Jobs> {
  const { pool, startAfterMs, expireAfterMs, retryDelayMs, retryDelayMaxMs, onError } = options;
  const boss = new PgBoss({
    db: executor(pool),
    schema: 'job',
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    schedule: false,
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
    async enqueue(client, callbackIds) {
      const startAfter = seconds(startAfterMs);
      const jobs = callbackIds.map((id) => ({ id, data: { callbackId: id }, startAfter }));
      await boss.insert(QUEUE, jobs, { db: executor(client) });
    },
    async remove(callbackId) {
      await boss.deleteJob(QUEUE, callbackId);
    },
    async requeue(client, callbackId) {
      // Under an id of its own: the queue remembers the job of the callback for a while.
      await boss.insert(QUEUE, [{ data: { callbackId }, startAfter: seconds(startAfterMs) }], {
        db: executor(client),
      });
    },
    async work(handler) {
      // One job for each worker: a provider that hangs holds up nobody else's callback.
      const options = { batchSize: 1, localConcurrency: WORKERS, pollingIntervalSeconds: 1 } as const;
      await boss.work<{ callbackId: string }>(QUEUE, options, async (jobs: Job<{ callbackId: string }>[]) => {
        for (const job of jobs) await handler(job.data.callbackId);
      });
    },
    async stop(graceMs) {
      await boss.stop({ graceful: true, timeout: graceMs });
    },
  };
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
