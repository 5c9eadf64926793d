// The schedule of the sweep: when it verifies a session next, and the statements by which the sweeps of all
// hubs share the sessions that are due.
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';

/** Milliseconds from a session's creation to each check. The last interval repeats until `untilMs`. */
export type SweepSchedule = { readonly afterMs: readonly number[]; readonly untilMs: number };

/**
 * Returns undefined once the session is too old. Depends on the age of the session alone, so that
 * verifications that callbacks trigger do not use up the schedule.
 */
export function nextCheck({ afterMs, untilMs }: SweepSchedule, createdAt: Date, now: Date): Date | undefined {
  // The clock of another hub may be ahead.
  const ageMs = Math.max(0, now.getTime() - createdAt.getTime());
  const lastMs = afterMs.at(-1) ?? untilMs;
  const nextMs = afterMs.find((each) => each > ageMs) ?? lastMs * (Math.floor(ageMs / lastMs) + 1);
  return nextMs > untilMs ? undefined : new Date(now.getTime() - ageMs + nextMs);
}

export function longestInterval({ afterMs, untilMs }: SweepSchedule): number {
  return afterMs.at(-1) ?? untilMs;
}

/** Gives a provider time to finish a payment that it does not report when it sends its callback. */
export const EARLY_CHECK_MS = 15_000;

/** The sweep verifies an unpaid session at `at` at the latest. */
export async function advanceCheck(db: Pool | PoolClient, sessionId: string, at: Date): Promise<void> {
  await db.query({
    name: 'advance_check',
    text: `update charge_session set next_check_at = $2
           where id = $1 and status <> 'success' and (next_check_at is null or next_check_at > $2)`,
    values: [sessionId, at],
  });
}

/** A session that this hub verifies until `reservedUntil`. If the hub dies, another one reserves it then. */
export type ReservedSession = {
  readonly id: string;
  readonly slotId: string;
  readonly createdAt: Date;
  /** How often the session was reserved, this time included. */
  readonly checks: number;
  readonly reservedAt: Date;
  readonly reservedUntil: Date;
  /** For a paid session: when a callback first named another payment. */
  readonly otherPaymentSince: Date | undefined;
};

/** Sessions of one slot that one statement recalls. */
const MAX_RECALLED = 1_000;

/** Makes sessions due that are scheduled beyond `latest`, which a hub with a clock ahead has done. */
export async function recallMisscheduled(pool: Pool, now: Date, latest: Date): Promise<void> {
  await pool.query({
    name: 'recall_misscheduled',
    // charge_session_slot_check_idx, once for each slot; an array, so that the update looks up its rows by
    // their ids
    text: `update charge_session set next_check_at = $1
           where id = any(array(
             select misscheduled.id from slot cross join lateral (
               select id from charge_session where slot_id = slot.id and next_check_at > $2
               order by next_check_at desc limit ${MAX_RECALLED}
             ) as misscheduled
           ))`,
    values: [now, latest],
  });
}

export type Reservation = {
  readonly now: Date;
  readonly durationMs: number;
  /** Sessions of one slot that this hub checks at the same time. */
  readonly limit: number;
  /** How many of these places are taken, by slot id. */
  readonly running: ReadonlyMap<string, number>;
};

/**
 * SQL array: the ids of the rows that are due by the column `time`. Of each slot, as many as it has free
 * places, the longest due first. Uses the parameters of `reserve`.
 */
export function dueIds(table: 'charge_session' | 'refund', time: string): string {
  return `array(
    select due.id
    from slot left join unnest($4::uuid[], $5::int[]) as busy (slot_id, places) on busy.slot_id = slot.id
    cross join lateral (
      select id from ${table} where slot_id = slot.id and ${time} <= $1
      order by ${time} limit greatest($3 - coalesce(busy.places, 0), 0) for update skip locked
    ) as due
  )`;
}

/** Runs a statement that reserves `dueIds` at `$1` until `$2`, at most `$3` less the places taken. */
export async function reserve<Row extends QueryResultRow>(
  pool: Pool,
  statement: { readonly name: string; readonly text: string },
  { now, durationMs, limit, running }: Reservation,
): Promise<(Row & { readonly reservedUntil: Date })[]> {
  const reservedUntil = new Date(now.getTime() + durationMs);
  const values = [now, reservedUntil, limit, [...running.keys()], [...running.values()]];
  const { rows } = await pool.query<Row>({ ...statement, values });
  return rows.map((row) => ({ ...row, reservedUntil }));
}

type Row = Pick<ReservedSession, 'id' | 'slotId' | 'checks'> & {
  readonly createdAtMs: number;
  readonly otherPaymentSinceMs: number | null;
};

const RESERVE_DUE = {
  name: 'reserve_due_sessions',
  // charge_session_slot_check_idx, once for each slot
  text: `update charge_session set checks = checks + 1, next_check_at = $2
    where id = any(${dueIds('charge_session', 'next_check_at')})
    returning id, slot_id as "slotId", checks, ${epochMs('created_at')} as "createdAtMs",
      case when status = 'success' then ${epochMs('other_payment_since')} end as "otherPaymentSinceMs"`,
};

export async function reserveDue(pool: Pool, reservation: Reservation): Promise<ReservedSession[]> {
  const rows = await reserve<Row>(pool, RESERVE_DUE, reservation);
  return rows.map(({ createdAtMs, otherPaymentSinceMs, ...session }) => ({
    ...session,
    createdAt: dateOf(createdAtMs),
    otherPaymentSince: dateOf(otherPaymentSinceMs) ?? undefined,
    reservedAt: reservation.now,
  }));
}

export type NextChecks = {
  /** By the schedule; undefined for never. */
  readonly regular: Date | undefined;
  /** If callbacks wait, because they arrived during the verification or it failed. */
  readonly ifWaiting: Date;
  /** If unjournaled callbacks arrived after `since`. */
  readonly ifUnjournaled: { readonly since: Date; readonly at: Date };
  /** If the session is held for review and the schedule has ended. */
  readonly ifHeld: Date;
};

/**
 * Schedules the next check, unless a settlement, a callback or another hub has scheduled it since. The rate
 * limit of callbacks applies to checks for callbacks.
 */
export async function scheduleNext(
  pool: Pool,
  { id, reservedUntil }: ReservedSession,
  { regular, ifWaiting, ifUnjournaled, ifHeld }: NextChecks,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // A statement after the lock sees the callbacks that were left waiting before.
    await client.query('select from charge_session where id = $1 for no key update', [id]);
    await client.query({
      name: 'schedule_check',
      // callback_waiting_idx, callback_count_pkey
      text: `update charge_session c
             set next_check_at = case
               when exists (select from callback where session_id = c.id and state = 'received')
               then least($3, greatest($4, verification_allowed_at))
               when exists (select from callback_count k where k.session_id = c.id and k.asked_for_at > $6)
               then least($3, greatest($7, verification_allowed_at))
               when held_at is not null then coalesce($3, $5) else $3 end
             where id = $1 and next_check_at = $2`,
      values: [id, reservedUntil, regular ?? null, ifWaiting, ifHeld, ifUnjournaled.since, ifUnjournaled.at],
    });
  });
}
