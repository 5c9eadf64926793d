// Finds callbacks that were journaled and not dealt with: their hub has died, or had too many at once.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../metrics/tasks.ts';
import type { Clock } from '../clock.ts';
import { repeatTask } from '../repeated-task.ts';
import type { Jobs } from './jobs.ts';

export type StrayOptions = {
  readonly pool: Pool;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
  /** How long the inline attempt has a callback to itself, in milliseconds. */
  readonly afterMs: number;
};

export type Strays = {
  stop(): Promise<void>;
};

const EVERY_MS = 1_000;
/** Queued at a time; those beyond come next. */
const BATCH = 500;
const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Queues them again and again: a callback that has a job keeps it. So none needs one in the commit that journals it, and
 * only the few that are not dealt with at once ever have one.
 */
export function startStrays({ pool, jobs, clock, logger, task, afterMs }: StrayOptions): Strays {
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
    complaint: 'callbacks that are not dealt with are not queued for now',
  });
}

/** The oldest first. A callback that waits for a question has a session, and the sweep sees to it. */
async function readStrays(pool: Pool, after: string, before: Date): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'stray_callbacks',
    // callback_stray_idx
    text: `select id from callback where state = 'received' and session_id is null and id > $1 and received_at < $2
           order by id limit ${BATCH}`,
    values: [after, before],
  });
  return rows.map(({ id }) => id);
}
