// Sums the payments of a past period and the fees that a rule would have charged for them, in SQL.
import type { Pool } from 'pg';
import { querySums } from '../usage/query-sums.ts';
import type { FeeRuleFacts } from './rules.ts';

type Sums = Record<'payments' | 'paidMinorUnits' | 'chargedMinorUnits' | 'wouldChargeMinorUnits', bigint>;

export type FeeBacktest = Sums & { readonly currency: string };

/** The payments of a part that match the same rules. `at` is the start of the part. */
export type Part = FeeBacktest & { readonly gateway: string; readonly slotId: string; readonly at: Date };

/** `begins` are the starts of the parts of a period that ends at `to`. */
export async function sumParts(
  pool: Pool,
  rule: FeeRuleFacts,
  begins: readonly Date[],
  to: Date,
): Promise<Part[]> {
  const rows = await querySums<Omit<Part, 'at'> & { part: number }>(pool, SQL, [
    begins.map((begin) => begin.toISOString()),
    to,
    rule.name,
    rule.gateway,
    rule.slotId,
    rule.currency,
    rule.basisPoints,
    rule.fixedMinor,
    rule.minMinor,
    rule.maxMinor,
  ]);
  return rows.map(({ part, ...sums }) => {
    const at = begins[part - 1];
    if (at === undefined) throw new Error('a payment was found outside of the period');
    return { ...sums, at };
  });
}

// `feeAmount` in SQL, so that a year of payments stays in the database. A bigint times ten thousand may
// overflow, so the product is numeric. `greatest` and `least` ignore nulls. usage_log_settled_idx,
// usage_log_session_idx, fee_line_pkey
const SQL = `
  select u.slot_id as "slotId", u.gateway, u.currency, width_bucket(u.settled_at, $1::timestamptz[]) as part,
         count(*) as payments,
         sum(u.amount_minor) as "paidMinorUnits",
         coalesce(sum(l.amount_minor), 0) as "chargedMinorUnits",
         sum(least(
           greatest(div(u.amount_minor::numeric * $7::int + 5000, 10000) + $8::numeric, $9::numeric),
           $10::numeric
         )) as "wouldChargeMinorUnits"
  from usage_log u
  left join fee_line l on l.usage_log_id = u.id and l.rule = $3
  where u.settled_at >= ($1::timestamptz[])[1] and u.settled_at < $2
    and (u.kind = 'payment' or (u.kind = 'later_payment' and not exists (
      select from usage_log r
      where r.session_id = u.session_id and r.kind <> 'payment' and r.kind = 'reversal' and r.id < u.id
        and r.gateway_transaction_id = u.gateway_transaction_id)))
    and ($4::text is null or u.gateway = $4)
    and ($5::uuid is null or u.slot_id = $5)
    and ($6::text is null or u.currency = $6)
  group by 1, 2, 3, 4`;
