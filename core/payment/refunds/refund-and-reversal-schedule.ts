// When the hub asks providers about refunds. It asks about pending refunds until they are final. It asks
// about each paid session a few times, less often with its age, because the merchant may refund or reverse
// the payment at the provider.
import type { Pool } from 'pg';
import { DAY_MS } from '../../clock.ts';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { RETRY_DELAY_MAX_MS, type RetryDelay } from '../provider-retry-delay.ts';
import { driverOf } from '../providers/registry.ts';
import { dueIds, type Reservation, reserve } from '../verification/sweep-schedule.ts';

/** Days from the payment to each check for refunds that the merchant made at the provider. */
const FIRST_CHECK_DAY = 1;
const CHECK_DAYS = [FIRST_CHECK_DAY, 3, 7, 14, 30, 60, 90, 120];

/** Undefined once the payment is too old, and for a gateway without refunds. */
export function nextRefundCheck(gateway: string, paidAt: Date, now: Date): Date | undefined {
  if (driverOf(gateway).refunds === undefined) return undefined;
  // The clock of another hub may be ahead.
  const ageMs = Math.max(0, now.getTime() - paidAt.getTime());
  const day = CHECK_DAYS.find((each) => each * DAY_MS > ageMs);
  return day === undefined ? undefined : new Date(now.getTime() - ageMs + day * DAY_MS);
}

/** From the payment to the first of these checks. */
export const FIRST_REFUND_CHECK_MS = FIRST_CHECK_DAY * DAY_MS;

/**
 * A session that this hub asks about until `reservedUntil`. If the hub dies, another one reserves it then.
 */
export type ReservedCheck = {
  readonly sessionId: string;
  readonly slotId: string;
  readonly gateway: string;
  readonly paidAt: Date;
  readonly reservedUntil: Date;
};

type Row = Omit<ReservedCheck, 'paidAt' | 'reservedUntil'> & { readonly paidAtMs: number };

const RESERVED = `c.id as "sessionId", c.slot_id as "slotId", s.gateway,
  ${epochMs('c.status_changed_at')} as "paidAtMs"`;

const RESERVE_PENDING = {
  name: 'reserve_pending_refunds',
  // refund_due_idx, once for each slot
  text: `with reserved as (
      update refund set next_check_at = $2
      where id = any(${dueIds('refund', 'next_check_at')})
      returning session_id
    )
    select distinct ${RESERVED}
    from reserved r join charge_session c on c.id = r.session_id join slot s on s.id = c.slot_id`,
};

const RESERVE_SESSIONS = {
  name: 'reserve_refund_checks',
  // charge_session_refund_check_idx, once for each slot
  text: `update charge_session c set refund_check_at = $2
    from slot s
    where s.id = c.slot_id and c.id = any(${dueIds('charge_session', 'refund_check_at')})
    returning ${RESERVED}`,
};

/** Reserves sessions with pending refunds that are due. */
export function reservePending(pool: Pool, reservation: Reservation): Promise<ReservedCheck[]> {
  return reserveChecks(pool, RESERVE_PENDING, reservation);
}

/** Reserves paid sessions that are due for a check. */
export function reserveSessions(pool: Pool, reservation: Reservation): Promise<ReservedCheck[]> {
  return reserveChecks(pool, RESERVE_SESSIONS, reservation);
}

async function reserveChecks(
  pool: Pool,
  statement: typeof RESERVE_PENDING,
  reservation: Reservation,
): Promise<ReservedCheck[]> {
  const rows = await reserve<Row>(pool, statement, reservation);
  return rows.map(({ paidAtMs, ...row }) => ({ ...row, paidAt: dateOf(paidAtMs) }));
}

/** Schedules the next check, unless a callback has scheduled it since. */
export async function scheduleCheck(
  pool: Pool,
  { sessionId, reservedUntil }: ReservedCheck,
  next: Date | undefined,
): Promise<void> {
  await pool.query({
    name: 'schedule_refund_check',
    // charge_session_pkey
    text: `update charge_session set refund_check_at = case when status = 'success' then $3::timestamptz end
           where id = $1 and refund_check_at = $2`,
    values: [sessionId, reservedUntil, next ?? null],
  });
}

/** Schedules the pending refunds of a session that the provider did not answer about. The delay doubles. */
export async function postponePending(
  pool: Pool,
  sessionId: string,
  now: Date,
  { retryDelayMs }: RetryDelay,
): Promise<void> {
  await pool.query({
    name: 'postpone_refunds',
    // refund_session_idx
    text: `update refund
           set checks = checks + 1,
               next_check_at = $2::timestamptz + interval '1 millisecond' * least(greatest(
                 extract(epoch from $2 - created_at) * 1000, $3), $4)
           where session_id = $1 and state = 'pending' and next_check_at is not null`,
    values: [sessionId, now, retryDelayMs, RETRY_DELAY_MAX_MS],
  });
}
