// What a changed fee rule would have charged for the payments of a past period.
import type { Database } from '../storage/database.ts';
import { specificity } from './fee-match.ts';
import { checkTerms, type FeeTerms, feeRuleInvalid } from './fee-terms.ts';
import type { PaymentDriver } from './provider.ts';

/** `from` is inside of it, `to` is not. */
export type Period = { readonly from: Date | undefined; readonly to: Date | undefined };

/** `ruleIsNew`: there is no rule of its name, and has been none. */
export type FeeBacktests = { readonly currencies: readonly FeeBacktest[]; readonly ruleIsNew: boolean };

/** The result for one currency, in minor units. */
export type FeeBacktest = {
  readonly currency: string;
  readonly payments: bigint;
  readonly paidMinor: bigint;
  readonly chargedMinor: bigint;
  readonly wouldChargeMinor: bigint;
};

export type FeeBacktestOptions = {
  readonly db: Database;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};

/**
 * Takes the rule as in force for the whole period, in the place of those of its name that are as specific or less.
 * Payments which a more specific rule of its name was in force for are not its own. Reversed payments count: their
 * fees were charged.
 */
export function createFeeBacktest({ db, driverOf }: FeeBacktestOptions) {
  /** @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown` */
  return async (terms: FeeTerms, { from, to }: Period): Promise<FeeBacktests> => {
    if (!from || !to || from >= to) {
      throw feeRuleInvalid('to', 'the period needs a beginning, and an end after it');
    }
    const rule = await checkTerms(db.em(), driverOf, terms);
    const { name, gateway, currency, basisPoints, fixedMinor, minMinor, maxMinor } = rule;
    const slotId = rule.slot?.id ?? null;
    const { rows } = await db.pool.query<Record<keyof FeeBacktest, string>>(SQL, [
      from,
      to,
      name,
      gateway,
      slotId,
      currency,
      specificity({ gateway, slotId, currency }),
      basisPoints,
      fixedMinor,
      minMinor,
      maxMinor,
    ]);
    const currencies = rows.map((row) => ({
      currency: row.currency,
      payments: BigInt(row.payments),
      paidMinor: BigInt(row.paidMinor),
      chargedMinor: BigInt(row.chargedMinor),
      wouldChargeMinor: BigInt(row.wouldChargeMinor),
    }));
    return { currencies, ruleIsNew: !(await isKnown(db, name)) };
  };
}

/** fee_rule_name_idx */
async function isKnown({ pool }: Database, name: string): Promise<boolean> {
  const { rowCount } = await pool.query('select from fee_rule where name = $1 limit 1', [name]);
  return rowCount === 1;
}

// `feeAmount`, `specificity` and the matching of rules as SQL, so that a year of payments never leaves the database.
// A bigint times ten thousand may be no bigint any more: numeric is exact. `greatest` and `least` pass over nulls.
// usage_log_settled_idx, fee_line_pkey, fee_rule_name_idx
const SQL = `
  select u.currency,
         count(*) as payments,
         sum(u.amount_minor) as "paidMinor",
         coalesce(sum(l.amount_minor), 0) as "chargedMinor",
         sum(least(
           greatest(div(u.amount_minor::numeric * $8::int + 5000, 10000) + $9::numeric, $10::numeric),
           $11::numeric
         )) as "wouldChargeMinor"
  from usage_log u
  left join fee_line l on l.usage_log_id = u.id and l.rule = $3
  where u.settled_at >= $1 and u.settled_at < $2
    and ($4::text is null or u.gateway = $4)
    and ($5::uuid is null or u.slot_id = $5)
    and ($6::text is null or u.currency = $6)
    and not exists (
      select from fee_rule r
      where r.name = $3
        and r.valid_from <= u.settled_at and (r.valid_to is null or r.valid_to > u.settled_at)
        and (r.gateway is null or r.gateway = u.gateway)
        and (r.slot_id is null or r.slot_id = u.slot_id)
        and (r.currency is null or r.currency = u.currency)
        and (r.slot_id is not null)::int * 4 + (r.gateway is not null)::int * 2 + (r.currency is not null)::int > $7
    )
  group by u.currency
  order by u.currency`;
