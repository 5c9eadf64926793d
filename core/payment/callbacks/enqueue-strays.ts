// Enqueues journaled callbacks that nobody processes: their hub died or was at its limit of inline callbacks.
import type { Pool } from 'pg';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { repeatTask } from '../../repeated-task.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { Jobs } from './job-queue.ts';

export type StrayOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'logger'> & {
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly task: Task;
  /** Milliseconds after which an inline attempt is taken to have failed. */
  readonly afterMs: number;
};

const EVERY_MS = 1_000;
/** Callbacks enqueued in one pass. */
const BATCH = 500;
const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Enqueues repeatedly; a callback that has a job keeps it. So the journal's commit need not create a job, and
 * only the few callbacks that are not processed at once ever have one.
 */
export function startStrays({ pool, jobs, clock, logger, task, afterMs }: StrayOptions) {
  let after = NO_ID;
  return repeatTask({
    everyMs: EVERY_MS,
    async pass() {
      const ids = await readStrays(pool, after, new Date(clock().getTime() - afterMs));
      if (ids.length > 0) await jobs.enqueue(ids);
      after = (ids.length === BATCH && ids.at(-1)) || NO_ID;
    },
    task,
    logger,
    failureMessage: 'cannot enqueue stray callbacks',
  });
}

/**
 * The oldest first. A received callback whose `session_id` is set is not stray: it waits for the sweep.
 */
async function readStrays(pool: Pool, after: string, before: Date): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'stray_callbacks',
    // callback_stray_idx
    text: `select id from callback where state = 'received' and session_id is null and id > $1 and
           received_at < $2
           order by id limit ${BATCH}`,
    values: [after, before],
  });
  return rows.map(({ id }) => id);
}
