// JSON schemas and columns of the fees that providers took, and of the rules that fit them.
import type { FeeDrift, FeeFit } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { requireField } from '../../connect/calls.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { feeTerms, termsText } from './fee-rule.ts';
import { MONEY, moneyMembers } from './money.ts';

export const FEE_DRIFT = json.view('FeeDrift', 'hub.payment.v1.FeeDrift', {
  day: json.text('the day in UTC'),
  currency: json.text(),
  rules: json.list(json.text(), 'names of the rules; empty for payments that no rule charged'),
  payments: json.integer(),
  differingPayments: json.integer(),
  paid: json.withDescription(MONEY, 'sum of these payments'),
  expected: json.withDescription(MONEY, 'fees by our rules'),
  taken: json.withDescription(MONEY, 'fees that the provider took'),
  drift: json.withDescription(MONEY, 'what the provider took more; negative for less'),
});
type FeeDriftView = json.ValueOf<typeof FEE_DRIFT>;

export function feeDriftView(drift: FeeDrift): FeeDriftView {
  const driftMinorUnits = drift.takenMinorUnits - drift.expectedMinorUnits;
  return json.viewOf(FEE_DRIFT, drift, moneyMembers({ ...drift, driftMinorUnits }));
}

export const FEE_DRIFT_COLUMNS: readonly Column<FeeDriftView>[] = [
  { title: 'Day', cell: ({ day }) => day },
  { title: 'Rules', cell: ({ rules }) => rules.join(' + ') },
  ...columnsOf(FEE_DRIFT, 'currency', 'payments', { differingPayments: 'Differing' }),
  { title: 'Paid', cell: ({ paid }) => paid.amount, right: true },
  { title: 'Expected', cell: ({ expected }) => expected.amount, right: true },
  { title: 'Taken', cell: ({ taken }) => taken.amount, right: true },
  { title: 'Drift', cell: ({ drift }) => `${drift.minorUnits > 0 ? '+' : ''}${drift.amount}`, right: true },
];

export const FEE_FIT = json.view(
  'FeeFit',
  { message: 'hub.payment.v1.FeeFit', without: ['rule'] },
  {
    name: json.text('name of the rule'),
    gateway: json.optional(json.text('gateway it is limited to')),
    slot: json.optional(json.text('slot it is limited to')),
    currency: json.text('ISO 4217 code'),
    basisPoints: json.integer('rate in hundredths of a percent'),
    percent: json.text('the same as a percentage: `1.50`'),
    fixed: json.optional(json.withDescription(MONEY, 'fixed amount added to the rate')),
    min: json.optional(json.withDescription(MONEY, 'minimum fee')),
    max: json.optional(json.withDescription(MONEY, 'maximum fee')),
    payments: json.integer(),
    exactPayments: json.integer(),
    taken: json.withDescription(MONEY, 'fees that the provider took, less those by rules of other names'),
    wouldCharge: json.withDescription(MONEY, 'fees by the proposed rule'),
    error: json.withDescription(MONEY, 'sum of the absolute differences of the payments'),
    largestError: json.withDescription(MONEY, 'the largest of these differences'),
    charged: json.withDescription(MONEY, 'fees by the current rule of this name'),
    chargedError: json.withDescription(MONEY, 'the sum of its differences'),
    ambiguous: json.boolean(),
  },
);
export type FeeFitView = json.ValueOf<typeof FEE_FIT>;

export function feeFitView(fit: FeeFit): FeeFitView {
  const rule = requireField(fit.rule, 'fee rule');
  const sums = moneyMembers({ ...fit, currency: rule.currency });
  return json.viewOf(FEE_FIT, { ...rule, ...fit }, { ...sums, ...feeTerms(rule) });
}

export const FEE_FIT_COLUMNS: readonly Column<FeeFitView>[] = [
  { title: 'Currency', cell: ({ currency }) => currency },
  { title: 'Fee', cell: termsText },
  ...columnsOf(FEE_FIT, 'payments', { exactPayments: 'Exact' }),
  { title: 'Taken', cell: ({ taken }) => taken.amount, right: true },
  { title: 'Would charge', cell: ({ wouldCharge }) => wouldCharge.amount, right: true },
  { title: 'Error', cell: ({ error }) => error.amount, right: true },
  { title: 'Largest', cell: ({ largestError }) => largestError.amount, right: true },
  { title: 'Error now', cell: ({ chargedError }) => chargedError.amount, right: true },
];

/** The line of hubctl that adds the proposed rule. */
export function addFeeLine({ name, gateway, slot, currency, percent, fixed, min, max }: FeeFitView): string {
  const words = [
    ...(slot !== undefined ? [`--slot ${slot}`] : gateway !== undefined ? [`--gateway ${gateway}`] : []),
    `--currency ${currency} --percent ${percent}`,
    ...(fixed ? [`--fixed ${fixed.amount}`] : []),
    ...(min ? [`--min-fee ${min.amount}`] : []),
    ...(max ? [`--max-fee ${max.amount}`] : []),
  ];
  return `hubctl fee add ${name} ${words.join(' ')}`;
}
