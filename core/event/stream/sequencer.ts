// Numbers events in the background. Each hub runs a sequencer; a lock lets one at a time number events.
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import type { Clock } from '../../clock.ts';
import { overloaded } from '../../errors.ts';
import { repeatTask } from '../../repeated-task.ts';
import type { SerialQueue } from '../../serial-queue.ts';
import { takeLock, tryLock } from '../../storage/hub-lock.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { EventMetrics } from '../metrics.ts';
import type { ObjectReaders } from '../read-objects.ts';
import { type Numbered, numberEvents } from './number-events.ts';
import { createOutboxFloor, type Snapshot } from './outbox-floor.ts';

export type SequencerOptions = {
  readonly pool: Pool;
  /**
   * Transactions that wait for the lock `event_counter` hold connections of the pool, and its holder needs
   * another one to read objects.
   */
  readonly counterQueue: SerialQueue;
  readonly readers: ObjectReaders;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly task: Task;
  readonly metrics: Pick<EventMetrics, 'numbered'>;
  /** Called after each batch of events is numbered. */
  readonly onNumbered: (numbered: Numbered) => void;
};

/** A batch costs 1.3 ms of CPU and 11 µs for each event, so fewer batches cost less. */
const EVERY_MS = 200;
/**
 * A pass starts shortly before the first position that may have no number, not at the start of the outbox:
 * PostgreSQL keeps the deleted rows of numbered events, and reads past them, while another transaction, such
 * as a backup, may see them. The overlap, and a regular pass over the whole outbox, find the events of a
 * transaction that got its id long after its position.
 */
const OVERLAP = 1_000;
const WHOLE_EVERY_MS = 5_000;

export function startSequencer(options: SequencerOptions): { stop(): Promise<void> } {
  const { pool, counterQueue, readers, clock, task, logger } = options;
  const floor = createOutboxFloor();
  let position = 0;
  let wholeAt = 0;

  /** Numbers one batch. Returns whether more events may wait. */
  const numberBatch = async (after: number): Promise<boolean> => {
    const known = position;
    const { isEmpty, snapshot } = await lookForEvents(pool, after);
    if (isEmpty) {
      floor.completed(known, snapshot);
      return false;
    }
    const numbered = await counterQueue(() =>
      inTransaction(pool, async (client) => {
        if (!(await tryLock(client, 'event_counter'))) return undefined; // another hub numbers events
        return numberEvents(client, { readers, now: clock(), after });
      }),
    );
    if (numbered === undefined) return false;
    if (numbered.events > 0) report(options, numbered);
    position = Math.max(position, numbered.position);
    // The batch contained all events of the snapshot, because it is newer than the snapshot.
    if (!numbered.isFull) floor.completed(known, snapshot);
    return numbered.isFull;
  };

  const pass = async (): Promise<void> => {
    const isWhole = performance.now() >= wholeAt;
    if (isWhole) wholeAt = performance.now() + WHOLE_EVERY_MS;
    const after = isWhole ? 0 : Math.max(0, floor.position() - OVERLAP);
    while (await numberBatch(after));
  };
  return repeatTask({
    everyMs: EVERY_MS,
    pass,
    task,
    logger,
    failureMessage: 'cannot number events; the hub tries again',
  });
}

async function lookForEvents(
  pool: Pool,
  after: number,
): Promise<{ readonly isEmpty: boolean; readonly snapshot: Snapshot }> {
  const { rows } = await pool.query<{ isEmpty: boolean; xmin: string; xmax: string }>({
    name: 'has_events',
    // event_outbox_pkey
    text: `select (select false from event_outbox where position > $1 order by position limit 1) is null
             as "isEmpty",
                  pg_snapshot_xmin(s) as xmin, pg_snapshot_xmax(s) as xmax
           from pg_current_snapshot() s`,
    values: [after],
  });
  const { isEmpty = true, xmin = '0', xmax = '0' } = rows[0] ?? {};
  return { isEmpty, snapshot: { xmin: BigInt(xmin), xmax: BigInt(xmax) } };
}

function report(
  { metrics, onNumbered }: Pick<SequencerOptions, 'metrics' | 'onNumbered'>,
  numbered: Numbered,
) {
  metrics.numbered(numbered.events);
  onNumbered(numbered);
}

/** Maximum batches that a change of an endpoint numbers first. */
const MAX_BATCHES = 40;

/** Runs a change of an endpoint between two events. */
export type BetweenEvents = <T>(change: (client: PoolClient) => Promise<T>) => Promise<T>;

/**
 * Numbers all committed events before a change of an endpoint, and holds the lock until its transaction ends.
 * So the change applies exactly to events that are committed later. Rejects with HubError `overloaded` if too
 * many events have no number.
 */
export function createBetweenEvents(options: Omit<SequencerOptions, 'task' | 'logger'>): BetweenEvents {
  const { pool, counterQueue, readers, clock } = options;
  const run = async <T>(change: (client: PoolClient) => Promise<T>): Promise<T> => {
    const numbered: Numbered[] = [];
    const result = await inTransaction(pool, async (client) => {
      await takeLock(client, 'event_counter');
      for (let batch = 1; ; batch++) {
        if (batch > MAX_BATCHES) throw overloaded();
        const done = await numberEvents(client, { readers, now: clock(), after: 0 });
        if (done.events === 0) break;
        numbered.push(done);
      }
      return change(client);
    });
    for (const each of numbered) report(options, each);
    return result;
  };
  return (change) => counterQueue(() => run(change));
}
