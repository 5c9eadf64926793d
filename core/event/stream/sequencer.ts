// Numbers events in the background. Each hub runs a sequencer; they take turns by the lock of the counter.
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import type { Clock } from '../../clock.ts';
import { overloaded } from '../../errors.ts';
import { repeatTask } from '../../repeated-task.ts';
import { takeLock, tryLock } from '../../storage/hub-lock.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { EventMetrics } from '../metrics.ts';
import type { ObjectReaders } from '../objects.ts';
import { type Numbered, numberEvents, readLastNumber } from './number-events.ts';

export type SequencerOptions = {
  readonly pool: Pool;
  readonly readers: ObjectReaders;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
  readonly metrics: Pick<EventMetrics, 'numbered'>;
  /** Called after events got numbers. */
  readonly onNumbered: (numbered: Numbered) => void;
};

const EVERY_MS = 50;
/**
 * Most passes begin shortly before the last position, because PostgreSQL has to skip the rows of numbered events
 * while another transaction, such as a backup, may still see them. Transactions that commit late are found by a
 * pass over the whole outbox.
 */
const OVERLAP = 1_000;
const WHOLE_EVERY_MS = 5_000;

export function startSequencer(options: SequencerOptions): { stop(): Promise<void> } {
  const { pool, task, logger } = options;
  let position = 0;
  let wholeAt = 0;

  /** Numbers one batch. Undefined if another hub does. */
  const numberBatch = async (after: number): Promise<Numbered | undefined> => {
    const { rowCount } = await pool.query({
      name: 'has_events',
      // event_outbox_pkey
      text: 'select from event_outbox where position > $1 order by position limit 1',
      values: [after],
    });
    if (rowCount === 0) return undefined;
    const numbered = await inTransaction(pool, async (client) => {
      if (!(await tryLock(client, 'event_counter'))) return undefined;
      const last = await readLastNumber(client);
      return numberEvents(client, last, { readers: options.readers, now: options.clock(), after });
    });
    if (numbered && numbered.events > 0) report(options, numbered);
    return numbered;
  };

  const pass = async (): Promise<void> => {
    const isWhole = performance.now() >= wholeAt;
    if (isWhole) wholeAt = performance.now() + WHOLE_EVERY_MS;
    let numbered: Numbered | undefined;
    do {
      numbered = await numberBatch(isWhole ? 0 : Math.max(0, position - OVERLAP));
      position = Math.max(position, numbered?.position ?? 0);
    } while (numbered?.isFull);
  };
  return repeatTask({
    everyMs: EVERY_MS,
    pass,
    task,
    logger,
    complaint: 'cannot number events; the hub tries again',
  });
}

function report(
  { metrics, onNumbered }: Pick<SequencerOptions, 'metrics' | 'onNumbered'>,
  numbered: Numbered,
) {
  metrics.numbered(numbered.events);
  onNumbered(numbered);
}

/** Batches that one change of an endpoint waits for. */
const MAX_BATCHES = 40;

/** Runs a change of an endpoint between two events. */
export type BetweenEvents = <T>(change: (client: PoolClient) => Promise<T>) => Promise<T>;

/**
 * Numbers all committed events before a change of an endpoint, and keeps others from being numbered until the end of
 * its transaction: so the change takes effect exactly for the changes that are committed after it. Rejects with
 * HubError `overloaded` if too many events have no number.
 */
export function createBetweenEvents(options: Omit<SequencerOptions, 'task' | 'logger'>): BetweenEvents {
  const { pool, readers, clock } = options;
  const run = async <T>(change: (client: PoolClient) => Promise<T>): Promise<T> => {
    const numbered: Numbered[] = [];
    const result = await inTransaction(pool, async (client) => {
      await takeLock(client, 'event_counter');
      let last = await readLastNumber(client);
      for (let batch = 1; ; batch++) {
        if (batch > MAX_BATCHES) throw overloaded();
        const done = await numberEvents(client, last, { readers, now: clock(), after: 0 });
        if (done.events === 0) break;
        numbered.push(done);
        last += done.events;
      }
      return change(client);
    });
    for (const each of numbered) report(options, each);
    return result;
  };
  // One at a time in this process: the others would wait for the lock with connections of the pool, of which the
  // reading of objects needs one.
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const turn = last.then(() => run(change));
    last = turn.catch(() => {}); // the caller handles it
    return turn;
  };
}
