// What a changed fee rule would have charged for the payments of a past period.
import type { Database } from '../storage/database.ts';
import { type FeeRuleFacts, matchRules } from './fee-match.ts';
import { readRulesOf } from './fee-rules.ts';
import { checkTerms, type FeeTerms, feeRuleInvalid } from './fee-terms.ts';
import type { PaymentDriver } from './provider.ts';

/** `from` is inside of it, `to` is not. */
export type Period = { readonly from: Date | undefined; readonly to: Date | undefined };

/** `ruleIsNew`: no rule of its name has ever been one for the same payments. */
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
 * Takes the rule as added before the period, open-ended, and as the newest version: what settlement would have chosen
 * then. So payments are not its own while a more specific or a temporary rule of its name was in force for them.
 * Reversed payments count: their fees were charged. A payment that stands again after its reversal
 * counts once, as it was charged.
 */
export function createFeeBacktest({ db, driverOf }: FeeBacktestOptions) {
  /**
   * @param isLimited Whether a limited token asks, and so would add the rule.
   * @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown`
   */
  return async (terms: FeeTerms, { from, to }: Period, isLimited: boolean): Promise<FeeBacktests> => {
    if (!from || !to || from >= to) {
      throw feeRuleInvalid('to', 'the period needs a beginning, and an end after it');
    }
    const { slot, ...checked } = await checkTerms(db.em(), driverOf, terms);
    const rule: FeeRuleFacts = {
      ...checked,
      id: '',
      version: Number.POSITIVE_INFINITY,
      slotId: slot?.id ?? null,
      validFrom: from,
      validTo: null,
      declaredTo: null,
      addedBySlot: isLimited,
    };
    const rules = [...(await readRulesOf(db.pool, rule.name, from, to)), rule];
    const parts = await sumParts(db, rule, partsOf(rules, from, to), to);
    const own = parts.filter((part) => matchRules(rules, part).includes(rule));
    return { currencies: byCurrency(own), ruleIsNew: !(await isKnown(db, rule)) };
  };
}

/** Where a period begins, and where in it rules begin or end: between two of these the same rules are in force. */
function partsOf(rules: readonly FeeRuleFacts[], from: Date, to: Date): Date[] {
  const times = rules
    .flatMap(({ validFrom, validTo }) => [validFrom, ...(validTo ? [validTo] : [])])
    .map((time) => time.getTime())
    .filter((ms) => ms > from.getTime() && ms < to.getTime());
  return [from.getTime(), ...new Set(times)].sort((one, other) => one - other).map((ms) => new Date(ms));
}

/** Payments that differ in nothing that rules look at. `at` is one of the moments between which they were settled. */
type Part = FeeBacktest & { readonly gateway: string; readonly slotId: string; readonly at: Date };

type Row = Record<keyof FeeBacktest, string> & { gateway: string; slotId: string; part: number };

async function sumParts(
  { pool }: Database,
  rule: FeeRuleFacts,
  begins: readonly Date[],
  to: Date,
): Promise<Part[]> {
  const { rows } = await pool.query<Row>(SQL, [
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
  return rows.map((row) => {
    const at = begins[row.part - 1];
    if (at === undefined) throw new Error('a payment was found outside of the period');
    return {
      gateway: row.gateway,
      slotId: row.slotId,
      at,
      currency: row.currency,
      payments: BigInt(row.payments),
      paidMinor: BigInt(row.paidMinor),
      chargedMinor: BigInt(row.chargedMinor),
      wouldChargeMinor: BigInt(row.wouldChargeMinor),
    };
  });
}

// `feeAmount` as SQL, so that a year of payments never leaves the database; which rule they belong to `matchRules` says.
// A bigint times ten thousand may be no bigint any more: numeric is exact. `greatest` and `least` pass over nulls.
// usage_log_settled_idx, usage_log_session_idx, fee_line_pkey
const SQL = `
  select u.slot_id as "slotId", u.gateway, u.currency, width_bucket(u.settled_at, $1::timestamptz[]) as part,
         count(*) as payments,
         sum(u.amount_minor) as "paidMinor",
         coalesce(sum(l.amount_minor), 0) as "chargedMinor",
         sum(least(
           greatest(div(u.amount_minor::numeric * $7::int + 5000, 10000) + $8::numeric, $9::numeric),
           $10::numeric
         )) as "wouldChargeMinor"
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

function byCurrency(parts: readonly Part[]): FeeBacktest[] {
  const groups = Map.groupBy(parts, ({ currency }) => currency);
  const sums = Array.from(groups, ([currency, group]) => ({
    currency,
    payments: sum(group.map(({ payments }) => payments)),
    paidMinor: sum(group.map(({ paidMinor }) => paidMinor)),
    chargedMinor: sum(group.map(({ chargedMinor }) => chargedMinor)),
    wouldChargeMinor: sum(group.map(({ wouldChargeMinor }) => wouldChargeMinor)),
  }));
  return sums.sort((one, other) => (one.currency < other.currency ? -1 : 1));
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Says nothing about the rules of other slots. fee_rule_name_idx */
async function isKnown({ pool }: Database, { name, slotId }: FeeRuleFacts): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from fee_rule where name = $1 and ($2::uuid is null or slot_id is null or slot_id = $2) limit 1',
    [name, slotId],
  );
  return rowCount === 1;
}
