// Sums up the usage log by day and currency: payments, fees, reversals and refunds.
//
// Each entry counts on its own day, so a reversal or a refund never changes the sums of an earlier day.
import { HubError } from '../../errors.ts';
import type { Database } from '../../storage/database.ts';
import type { Period } from '../fees/backtest.ts';
import { findSlot } from '../slots/admin.ts';

/** One currency on one day, in minor units. */
export type UsageDay = {
  /** In UTC, `2026-01-31`. */
  readonly day: string;
  readonly currency: string;
  /** Payments settled on the day, later payments included, reversed or not. */
  readonly payments: bigint;
  readonly paidMinor: bigint;
  readonly feeMinor: bigint;
  /** Reversals on the day, of payments of any day. The amount is positive. */
  readonly reversedPayments: bigint;
  readonly reversedMinor: bigint;
  /** Refunds and lost disputes on the day, of payments of any day. The amount is positive. */
  readonly refunds: bigint;
  readonly refundedMinor: bigint;
  /** Payments less reversals and refunds. */
  readonly netMinor: bigint;
};

export type SummarizeUsage = (slot: string | undefined, period: Period) => Promise<UsageDay[]>;

/** Bounds the cost of a call, which reads all payments of the period. */
const MAX_DAYS = 400;
const DAY_MS = 86_400_000;

export function createSummarizeUsage(db: Database): SummarizeUsage {
  /** @throws HubError `period_invalid`, `slot_unknown` */
  return async (slot, { from, to }) => {
    if (!from || !to || from >= to || to.getTime() - from.getTime() > MAX_DAYS * DAY_MS) {
      const message = `the period needs a start, and an end after it, at most ${MAX_DAYS} days later`;
      throw new HubError('period_invalid', message, { field: 'settledTo' });
    }
    const slotId = slot === undefined ? null : (await findSlot(db.em(), slot)).id;
    const { rows } = await db.pool.query<Record<keyof UsageDay, string>>(SQL, [from, to, slotId]);
    return rows.map((row) => ({
      day: row.day,
      currency: row.currency,
      payments: BigInt(row.payments),
      paidMinor: BigInt(row.paidMinor),
      feeMinor: BigInt(row.feeMinor),
      reversedPayments: BigInt(row.reversedPayments),
      reversedMinor: BigInt(row.reversedMinor),
      refunds: BigInt(row.refunds),
      refundedMinor: BigInt(row.refundedMinor),
      netMinor: BigInt(row.netMinor),
    }));
  };
}

// usage_log_settled_idx, or usage_log_slot_idx for one slot. Not prepared, so that the planner sees which
// applies.
const SQL = `
  select to_char(u.settled_at at time zone 'UTC', 'YYYY-MM-DD') as day,
         u.currency,
         count(*) filter (where u.kind in ('payment', 'later_payment')) as payments,
         coalesce(sum(u.amount_minor) filter (where u.kind in ('payment', 'later_payment')), 0) as
           "paidMinor",
         sum(u.fee_total_minor) as "feeMinor",
         count(*) filter (where u.kind = 'reversal') as "reversedPayments",
         -coalesce(sum(u.amount_minor) filter (where u.kind = 'reversal'), 0) as "reversedMinor",
         count(*) filter (where u.kind = 'refund') as refunds,
         -coalesce(sum(u.amount_minor) filter (where u.kind = 'refund'), 0) as "refundedMinor",
         sum(u.amount_minor) as "netMinor"
  from usage_log u
  where u.settled_at >= $1 and u.settled_at < $2
    and ($3::uuid is null or u.slot_id = $3)
  group by 1, 2
  order by 1, 2`;
