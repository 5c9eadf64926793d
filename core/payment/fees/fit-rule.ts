// Proposes the fee rule that fits what providers took in a past period.
import type { Database } from '../../storage/database.ts';
import type { PaymentDriver } from '../providers/driver.ts';
import type { Period } from './backtest.ts';
import { type FeeObservation, type FittedFee, fitFee } from './fit-formula.ts';
import { checkTerms, type FeeTerms, feeRuleInvalid } from './terms.ts';

/** A proposal for one currency. Amounts are in minor units. */
export type FeeFit = FittedFee & {
  readonly currency: string;
  readonly payments: bigint;
  /** What the provider took, less the fees by rules of other names. */
  readonly takenMinor: bigint;
  /** What the rule of this name charged. */
  readonly chargedMinor: bigint;
  /** The sum of its absolute errors. */
  readonly chargedErrorMinor: bigint;
};

export type FitFeeRule = (terms: FeeTerms, period: Period) => Promise<FeeFit[]>;

export type FitFeeRuleOptions = {
  readonly db: Database;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};

/** Maximum number of observations of a currency. Takes a random sample of more. */
const MAX_OBSERVATIONS = 5_000;

/** Uses the name and the scope of `terms`, and ignores its rates. */
export function createFitFeeRule({ db, driverOf }: FitFeeRuleOptions): FitFeeRule {
  /** @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown` */
  return async (terms, { from, to }) => {
    if (!from || !to || from >= to) {
      throw feeRuleInvalid('to', 'the period needs a start, and an end after it');
    }
    const { name, gateway, slot, currency } = await checkTerms(db.em(), driverOf, {
      ...terms,
      basisPoints: 0,
      fixedMinor: 0n,
      minMinor: null,
      maxMinor: null,
    });
    const { rows } = await db.pool.query<Row>(SQL, [from, to, name, gateway, slot?.id ?? null, currency]);
    const fits: FeeFit[] = [];
    for (const [code, group] of Map.groupBy(rows, (row) => row.currency)) {
      fits.push({ currency: code, ...totalsOf(group), ...(await fitFee(group.map(observationOf))) });
    }
    return fits;
  };
}

type Row = Record<'currency' | 'amount' | 'fee' | 'payments' | 'charged' | 'chargedError', string>;

function observationOf({ amount, fee, payments }: Row): FeeObservation {
  return { amountMinor: BigInt(amount), feeMinor: BigInt(fee), payments: Number(payments) };
}

function totalsOf(rows: readonly Row[]) {
  const totals = { payments: 0n, takenMinor: 0n, chargedMinor: 0n, chargedErrorMinor: 0n };
  for (const row of rows) {
    totals.payments += BigInt(row.payments);
    totals.takenMinor += BigInt(row.fee) * BigInt(row.payments);
    totals.chargedMinor += BigInt(row.charged);
    totals.chargedErrorMinor += BigInt(row.chargedError);
  }
  return totals;
}

// usage_log_settled_idx, or usage_log_slot_idx for one slot; fee_line_pkey. The hash makes the sample random
// but reproducible.
const SQL = `
  select currency, amount_minor as amount, fee, payments, charged, "chargedError"
  from (
    select g.*, row_number() over (partition by currency order by hashint8(amount_minor), fee) as place
    from (
      select u.currency, u.amount_minor, l.fee, count(*) as payments, sum(l.own) as charged,
             sum(abs(l.own - l.fee)) as "chargedError"
      from usage_log u
      cross join lateral (
        select u.amount_minor - u.received_minor
          - coalesce(sum(f.amount_minor) filter (where f.rule <> $3), 0) as fee,
               coalesce(sum(f.amount_minor) filter (where f.rule = $3), 0) as own
        from fee_line f where f.usage_log_id = u.id) l
      where u.settled_at >= $1 and u.settled_at < $2
        and u.received_minor is not null and u.received_currency = u.currency
        and ($4::text is null or u.gateway = $4)
        and ($5::uuid is null or u.slot_id = $5)
        and ($6::text is null or u.currency = $6)
      group by 1, 2, 3) g) p
  where place <= ${MAX_OBSERVATIONS}
  order by currency`;
