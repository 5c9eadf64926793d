// What waits in the payment room, and for how long: callbacks, sessions, jobs.
//
// Depths are counted up to a bound, so that a backlog of a million costs no more than one of ten thousand.
import type { Clock } from '../clock.ts';
import type { Figures } from '../storage/database-figures.ts';
import { QUEUE } from './jobs.ts';

const MOST = 10_000;
const SO_MANY = `${MOST}: so many or more`;

/** By what stands in the label, from the youngest; the sweep asks for a day. */
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

export type PaymentFiguresOptions = {
  readonly clock: Clock;
  /** How long the inline attempt has a callback to itself, in milliseconds. */
  readonly strayAfterMs: number;
  /** Told of every slot there is. */
  readonly onSlot: (name: string) => void;
};

export function paymentFigures({ clock, strayAfterMs, onSlot }: PaymentFiguresOptions): Figures {
  return {
    specs: [
      {
        name: WAITING,
        help: `Callbacks that wait for the next question about their session, which the sweep asks; ${SO_MANY}.`,
      },
      { name: OLDEST_WAITING, help: 'Age of the oldest of them; 0 if there is none.' },
      {
        name: STRAY,
        help: `Callbacks that are journaled and that nobody has dealt with, although it is time; ${SO_MANY}.`,
      },
      { name: OLDEST_STRAY, help: 'Age of the oldest of them; 0 if there is none.' },
      { name: DEAD, help: `Callbacks in the journal that were given up and not replayed since; ${SO_MANY}.` },
      {
        name: DUPLICATES,
        help: `Duplicate payments that nobody has marked as handled; ${SO_MANY}.`,
      },
      {
        name: PENDING,
        help: `Charge sessions that are neither paid nor failed nor cancelled, by age; ${SO_MANY}. After a day nobody asks about them any more.`,
      },
      {
        name: HELD,
        help: `Charge sessions whose payment is held for review, because the provider rates it risky; ${SO_MANY}.`,
      },
      { name: OLDEST_HELD, help: 'For how long the first of them has been held; 0 if none is.' },
      {
        name: OVERDUE,
        help: 'For how long the session of a slot that the sweep should ask about next has been due; 0 if none is.',
      },
      {
        name: JOBS,
        help: 'Jobs of the queue for stray callbacks: ready to be done, put off, under way.',
      },
    ],
    async read(client) {
      const now = clock();
      const [backlog, pending, slots, jobs] = await Promise.all([
        client.query<
          Record<'waiting' | 'stray' | 'dead' | 'duplicates' | 'oldestWaiting' | 'oldestStray', number>
        >({
          name: 'callback_figures',
          // callback_waiting_idx, callback_stray_idx, callback_state_idx, duplicate_payment_open_idx; the oldest by their ids, month by month
          text: `select
                   (select count(*) from (
                      select from callback where state = 'received' and session_id is not null limit ${MOST}) w)::float8 as waiting,
                   (select count(*) from (
                      select from callback where state = 'received' and session_id is null and received_at < $2
                      limit ${MOST}) s)::float8 as stray,
                   (select count(*) from (select from callback where state = 'dead' limit ${MOST}) d)::float8 as dead,
                   (select count(*) from (
                      select from duplicate_payment where resolved_at is null limit ${MOST}) o)::float8 as duplicates,
                   coalesce((select extract(epoch from $1 - received_at) from callback
                     where state = 'received' and session_id is not null order by id limit 1), 0)::float8 as "oldestWaiting",
                   coalesce((select extract(epoch from $1 - received_at) from callback
                     where state = 'received' and session_id is null and received_at < $2 order by id limit 1), 0)::float8
                     as "oldestStray"`,
          values: [now, new Date(now.getTime() - strayAfterMs)],
        }),
        client.query<Record<string, number>>({
          name: 'session_figures',
          // charge_session_pending_idx, which has the age; charge_session_held_idx
          text: `select (select count(*) from (
                      select from charge_session where held_at is not null limit ${MOST}) h)::float8 as "${HELD}",
                   coalesce((select extract(epoch from $1 - held_at) from charge_session
                     where held_at is not null order by held_at limit 1), 0)::float8 as "${OLDEST_HELD}", ${AGES.map(
                       ({ age, from, to }) => `
                   (select count(*) from (
                      select from charge_session where status = 'pending'
                      and created_at <= $1::timestamptz - interval '${from}' and created_at > $1::timestamptz - interval '${to}'
                      limit ${MOST}) p)::float8 as "${age}"`,
                     ).join(',')}`,
          values: [now],
        }),
        client.query<{ name: string; overdue: number }>({
          name: 'slot_figures',
          // charge_session_slot_check_idx, once for each slot
          text: `select name, coalesce((
                   select extract(epoch from $1 - next_check_at) from charge_session
                   where slot_id = slot.id and next_check_at <= $1 order by next_check_at limit 1), 0)::float8 as overdue
                 from slot order by name`,
          values: [now],
        }),
        client.query<Record<'ready' | 'deferred' | 'active', number>>({
          name: 'job_figures',
          // One row: the queue counts its jobs each second.
          text: `select ready_count as ready, deferred_count as deferred, active_count as active
                 from queue where name = '${QUEUE}'`,
        }),
      ]);
      const [callbacks] = backlog.rows;
      const { [HELD]: held, [OLDEST_HELD]: oldestHeld, ...ages } = pending.rows[0] ?? {};
      for (const { name } of slots.rows) onSlot(name);
      return {
        [WAITING]: callbacks?.waiting,
        [OLDEST_WAITING]: callbacks?.oldestWaiting,
        [STRAY]: callbacks?.stray,
        [OLDEST_STRAY]: callbacks?.oldestStray,
        [DEAD]: callbacks?.dead,
        [PENDING]: samples('age', ages),
        [HELD]: held,
        [OLDEST_HELD]: oldestHeld,
        [DUPLICATES]: callbacks?.duplicates,
        [OVERDUE]: slots.rows.map(({ name, overdue }) => ({ labels: { slot: name }, value: overdue })),
        [JOBS]: samples('state', jobs.rows[0]),
      };
    },
  };
}

function samples(label: string, row: Readonly<Record<string, number>> | undefined) {
  return Object.entries(row ?? {}).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
