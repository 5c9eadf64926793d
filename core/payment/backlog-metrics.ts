// Gauges of the backlog: how many callbacks, sessions and jobs wait, and for how long.
//
// Counts stop at a bound, so that a backlog of a million costs no more than one of ten thousand.
import type { ClientBase } from 'pg';
import type { Clock } from '../clock.ts';
import type { Figures } from '../storage/database-metrics.ts';
import { QUEUE } from './callbacks/job-queue.ts';
import { FEE_DRIFT, readFeeDrift } from './fees/drift-metrics.ts';
import { refundTableMetrics } from './refunds/table-metrics.ts';

const MAX_COUNT = 10_000;
const BOUND = `${MAX_COUNT} means that many or more`;

/** The values of the label `age`. The sweep verifies a session for a day. */
const AGES = [
  { age: '0-10m', from: '0', to: '10 minutes' },
  { age: '10m-1h', from: '10 minutes', to: '1 hour' },
  { age: '1h-6h', from: '1 hour', to: '6 hours' },
  { age: '6h-1d', from: '6 hours', to: '1 day' },
] as const;

const WAITING = 'hub_callbacks_waiting';
const STRAY = 'hub_callbacks_stray';
const DEAD = 'hub_callbacks_dead';
const OLDEST_WAITING = 'hub_callbacks_oldest_waiting_seconds';
const OLDEST_STRAY = 'hub_callbacks_oldest_stray_seconds';
const DUPLICATES = 'hub_duplicate_payments_open';
const PENDING = 'hub_sessions_pending';
const HELD = 'hub_sessions_held';
const OLDEST_HELD = 'hub_sessions_oldest_held_seconds';
const OVERDUE = 'hub_sweep_overdue_seconds';
const JOBS = 'hub_jobs';

export type BacklogMetricsOptions = {
  readonly clock: Clock;
  /** Milliseconds until a callback in the journal that nothing processes is stray. */
  readonly strayAfterMs: number;
  /** Called with the name of every slot. */
  readonly onSlot: (name: string) => void;
};

export function backlogMetrics({ clock, strayAfterMs, onSlot }: BacklogMetricsOptions): Figures {
  return {
    specs: [
      { name: WAITING, help: `Callbacks that wait for the next verification of their session; ${BOUND}.` },
      { name: OLDEST_WAITING, help: 'Age of the oldest of them; 0 if there is none.' },
      { name: STRAY, help: `Callbacks in the journal whose processing is overdue; ${BOUND}.` },
      { name: OLDEST_STRAY, help: 'Age of the oldest of them; 0 if there is none.' },
      { name: DEAD, help: `Callbacks that were given up and not replayed since; ${BOUND}.` },
      { name: DUPLICATES, help: `Duplicate payments not marked as handled; ${BOUND}.` },
      {
        name: PENDING,
        labelNames: ['age'],
        help: `Pending charge sessions by age; ${BOUND}. After a day the sweep no longer verifies them.`,
      },
      { name: HELD, help: `Charge sessions whose payment is held for review because of its risk; ${BOUND}.` },
      { name: OLDEST_HELD, help: 'How long the oldest of them has been held; 0 if there is none.' },
      {
        name: OVERDUE,
        labelNames: ['slot'],
        help: 'How long the session that the sweep checks next in a slot has been due; 0 if none is due.',
      },
      {
        name: JOBS,
        labelNames: ['state'],
        help: 'Jobs of the queue for stray callbacks by state: ready, deferred, active; counted every 10 s.',
      },
      FEE_DRIFT,
      ...refundTableMetrics.specs,
    ],
    async read(client) {
      const now = clock();
      const [callbacks, sessions, slots, jobs, drift, refunds] = await Promise.all([
        readCallbacks(client, now, new Date(now.getTime() - strayAfterMs)),
        readSessions(client, now),
        readSlots(client, now),
        readJobs(client),
        readFeeDrift(client, now),
        refundTableMetrics.read(client),
      ]);
      for (const { name } of slots) onSlot(name);
      const overdue = slots.map(({ name, overdue }) => ({ labels: { slot: name }, value: overdue }));
      return {
        ...callbacks,
        ...sessions,
        [OVERDUE]: overdue,
        [JOBS]: samples('state', jobs),
        [FEE_DRIFT.name]: drift,
        ...refunds,
      };
    },
  };
}

type Values = Readonly<Record<string, number>>;

/** SQL: the number of rows, up to the bound. */
function count(rows: string): string {
  return `(select count(*) from (select from ${rows} limit ${MAX_COUNT}) as counted)::float8`;
}

/** SQL: seconds from the time of the first row to `$1`; 0 if there is none. */
function age(time: string, rows: string): string {
  return `coalesce((select extract(epoch from $1 - ${time}) from ${rows} limit 1), 0)::float8`;
}

async function readCallbacks(client: ClientBase, now: Date, strayBefore: Date): Promise<Values | undefined> {
  const waiting = `callback where state = 'received' and session_id is not null`;
  const stray = `callback where state = 'received' and session_id is null and received_at < $2`;
  const { rows } = await client.query<Values>({
    name: 'callback_backlog',
    // callback_waiting_idx, callback_stray_idx, callback_state_idx, duplicate_payment_open_idx
    text: `select ${count(waiting)} as "${WAITING}",
             ${age('received_at', `${waiting} order by id`)} as "${OLDEST_WAITING}",
             ${count(stray)} as "${STRAY}",
             ${age('received_at', `${stray} order by id`)} as "${OLDEST_STRAY}",
             ${count(`callback where state = 'dead'`)} as "${DEAD}",
             ${count('duplicate_payment where resolved_at is null')} as "${DUPLICATES}"`,
    values: [now, strayBefore],
  });
  return rows[0];
}

async function readSessions(client: ClientBase, now: Date) {
  const held = 'charge_session where held_at is not null';
  const pending = AGES.map(
    ({ age, from, to }) =>
      `${count(`charge_session where status = 'pending' and created_at <= $1::timestamptz - interval '${from}'
                and created_at > $1::timestamptz - interval '${to}'`)} as "${age}"`,
  );
  const { rows } = await client.query<Values>({
    name: 'session_backlog',
    // charge_session_pending_idx, charge_session_held_idx
    text: `select ${count(held)} as "${HELD}", ${age('held_at', `${held} order by held_at`)} as
           "${OLDEST_HELD}",
             ${pending.join(', ')}`,
    values: [now],
  });
  const { [HELD]: heldCount, [OLDEST_HELD]: oldestHeld, ...ages } = rows[0] ?? {};
  return { [HELD]: heldCount, [OLDEST_HELD]: oldestHeld, [PENDING]: samples('age', ages) };
}

async function readSlots(client: ClientBase, now: Date) {
  const due = 'charge_session where slot_id = slot.id and next_check_at <= $1 order by next_check_at';
  const { rows } = await client.query<{ name: string; overdue: number }>({
    name: 'slot_backlog',
    // charge_session_slot_check_idx, once for each slot
    text: `select name, ${age('next_check_at', due)} as overdue
           from slot order by name`,
    values: [now],
  });
  return rows;
}

async function readJobs(client: ClientBase): Promise<Values | undefined> {
  const { rows } = await client.query<Values>({
    name: 'job_backlog',
    // pg-boss counts the jobs of the queue every 10 seconds.
    text: `select ready_count as ready, deferred_count as deferred, active_count as active
           from queue where name = '${QUEUE}'`,
  });
  return rows[0];
}

function samples(label: string, row: Values = {}) {
  return Object.entries(row).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
