// Proposes the fee rule that fits what providers took in a past period.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { FeeFitSchema } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { formulaToProto } from '../messages.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { type Period, querySums } from '../usage/query-sums.ts';
import { checkPeriod, checkTerms, type FeeTerms } from './check-fee-terms.ts';
import { type FeeObservation, fitFee } from './fit-formula.ts';

type FeeFit = MessageInitShape<typeof FeeFitSchema>;

/** Maximum number of observations of a currency. Takes a random sample of more. */
const MAX_OBSERVATIONS = 5_000;

/**
 * Creates the function that proposes a rule for each currency. It uses the name and the scope of `terms`, and
 * ignores its rates.
 */
export function createFitFeeRule({ db, driverOf }: Pick<AdminDependencies, 'db' | 'driverOf'>) {
  /** @throws HubError `fee_rule_invalid`, `gateway_unknown`, `slot_unknown` */
  return async (terms: FeeTerms, period: Period): Promise<FeeFit[]> => {
    const { from, to } = checkPeriod(period);
    const { name, gateway, slot, currency } = await checkTerms(db.em(), driverOf, {
      ...terms,
      basisPoints: 0,
      fixedMinor: 0n,
      minMinor: null,
      maxMinor: null,
    });
    const values = [from, to, name, gateway, slot?.id ?? null, currency];
    const groups = Map.groupBy(await querySums<Row>(db.pool, SQL, values), (row) => row.currency);
    const fits: FeeFit[] = [];
    for (const [code, rows] of groups) {
      const fitted = await fitFee(rows.map(observationOf));
      const formula = formulaToProto(fitted.formula);
      fits.push({
        rule: { name, gateway: terms.gateway, slot: terms.slot, currency: code, ...formula },
        ...totalsOf(rows),
        exactPayments: fitted.exactPayments,
        wouldChargeMinorUnits: fitted.wouldChargeMinor,
        errorMinorUnits: fitted.errorMinor,
        largestErrorMinorUnits: fitted.largestErrorMinor,
        ambiguous: fitted.isAmbiguous,
      });
    }
    return fits;
  };
}

type Row = Record<'amount' | 'fee' | 'payments' | 'charged' | 'chargedError', bigint> & { currency: string };

function observationOf({ amount, fee, payments }: Row): FeeObservation {
  return { amountMinor: amount, feeMinor: fee, payments: Number(payments) };
}

/** What the provider took, less the fees by rules of other names, and what the rule of this name charged. */
function totalsOf(rows: readonly Row[]) {
  const total = (of: (row: Row) => bigint): bigint => rows.reduce((sum, row) => sum + of(row), 0n);
  return {
    payments: total(({ payments }) => payments),
    takenMinorUnits: total(({ fee, payments }) => fee * payments),
    chargedMinorUnits: total(({ charged }) => charged),
    chargedErrorMinorUnits: total(({ chargedError }) => chargedError),
  };
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
