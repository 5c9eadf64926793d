// Compares the fees by the rules of the hub with the fees that providers took, by day and rules.
import { HubError } from '../../errors.ts';
import type { Database } from '../../storage/database.ts';
import { DAY_MS } from '../options.ts';
import { findSlot } from '../slots/admin.ts';
import type { Period } from './backtest.ts';

/** The payments of a day that the same rules charged, in minor units of one currency. */
export type FeeDrift = {
  /** In UTC, `2026-01-31`. */
  readonly day: string;
  readonly currency: string;
  /** Names, sorted. Empty for payments that no rule charged. */
  readonly rules: readonly string[];
  readonly payments: bigint;
  readonly paidMinor: bigint;
  /** The fees by the fee lines. */
  readonly expectedMinor: bigint;
  /** The amounts less those that the provider reports the vendor receives. */
  readonly takenMinor: bigint;
  /** Payments whose fees differ. */
  readonly differing: bigint;
};

export type AuditFees = (slot: string | undefined, period: Period) => Promise<FeeDrift[]>;

const MAX_DAYS = 400;

type Row = Record<Exclude<keyof FeeDrift, 'rules'>, string> & { rules: string[] };

/**
 * Leaves out payments without a received amount, and those that the provider converted to another currency.
 */
export function createAuditFees(db: Database): AuditFees {
  /** @throws HubError `period_invalid`, `slot_unknown` */
  return async (slot, { from, to }) => {
    if (!from || !to || from >= to || to.getTime() - from.getTime() > MAX_DAYS * DAY_MS) {
      const message = `the period needs a start, and an end after it, at most ${MAX_DAYS} days later`;
      throw new HubError('period_invalid', message, { field: 'settledTo' });
    }
    const slotId = slot === undefined ? null : (await findSlot(db.em(), slot)).id;
    const { rows } = await db.pool.query<Row>(SQL, [from, to, slotId]);
    return rows.map((row) => ({
      day: row.day,
      currency: row.currency,
      rules: row.rules,
      payments: BigInt(row.payments),
      paidMinor: BigInt(row.paidMinor),
      expectedMinor: BigInt(row.expectedMinor),
      takenMinor: BigInt(row.takenMinor),
      differing: BigInt(row.differing),
    }));
  };
}

// usage_log_settled_idx, or usage_log_slot_idx for one slot; fee_line_pkey. Only payments have a received
// amount. Not prepared, so that the planner sees which index applies.
const SQL = `
  select to_char(u.settled_at at time zone 'UTC', 'YYYY-MM-DD') as day, u.currency, l.rules,
         count(*) as payments,
         sum(u.amount_minor) as "paidMinor",
         sum(u.fee_total_minor) as "expectedMinor",
         sum(u.amount_minor - u.received_minor) as "takenMinor",
         count(*) filter (where u.amount_minor - u.received_minor <> u.fee_total_minor) as differing
  from usage_log u
  cross join lateral (
    select array(select f.rule from fee_line f where f.usage_log_id = u.id order by f.rule) as rules) l
  where u.settled_at >= $1 and u.settled_at < $2
    and ($3::uuid is null or u.slot_id = $3)
    and u.received_minor is not null and u.received_currency = u.currency
  group by 1, 2, 3
  order by 1, 2, 3`;
