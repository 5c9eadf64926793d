// JSON schemas and columns of the fees that providers took, and of the rules that fit them.
import type { FeeDrift, FeeFit } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { feeTermsText, percentText } from '../../../lib/presentation/fee-rule.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  integer,
  list,
  object,
  optional,
  text,
  type ValueOf,
  withDescription,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const FEE_DRIFT = object(
  'FeeDrift',
  {
    day: text('the day in UTC'),
    currency: text(),
    rules: list(text(), 'names of the rules; empty for payments that no rule charged'),
    payments: integer(),
    differingPayments: integer(),
    paid: withDescription(MONEY, 'sum of these payments'),
    expected: withDescription(MONEY, 'fees by our rules'),
    taken: withDescription(MONEY, 'fees that the provider took'),
    drift: withDescription(MONEY, 'what the provider took more; negative for less'),
  },
  {
    message: 'hub.payment.v1.FeeDrift',
    without: ['paidMinorUnits', 'expectedMinorUnits', 'takenMinorUnits'],
  },
);
type FeeDriftView = ValueOf<typeof FEE_DRIFT>;

export function feeDriftView(drift: FeeDrift): FeeDriftView {
  const { currency, expectedMinorUnits, takenMinorUnits } = drift;
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  return {
    day: drift.day,
    currency,
    rules: drift.rules,
    payments: Number(drift.payments),
    differingPayments: Number(drift.differingPayments),
    paid: money(drift.paidMinorUnits),
    expected: money(expectedMinorUnits),
    taken: money(takenMinorUnits),
    drift: money(takenMinorUnits - expectedMinorUnits),
  };
}

export const FEE_DRIFT_COLUMNS: readonly Column<FeeDriftView>[] = [
  { title: 'DAY', cell: ({ day }) => day },
  { title: 'RULES', cell: ({ rules }) => rules.join(' + ') },
  { title: 'CURRENCY', cell: ({ currency }) => currency },
  { title: 'PAYMENTS', cell: ({ payments }) => payments, right: true },
  { title: 'DIFFERING', cell: ({ differingPayments }) => differingPayments, right: true },
  { title: 'PAID', cell: ({ paid }) => paid.amount, right: true },
  { title: 'EXPECTED', cell: ({ expected }) => expected.amount, right: true },
  { title: 'TAKEN', cell: ({ taken }) => taken.amount, right: true },
  { title: 'DRIFT', cell: ({ drift }) => signed(drift), right: true },
];

export const FEE_FIT = object(
  'FeeFit',
  {
    name: text('name of the rule'),
    gateway: optional(text('gateway it is limited to')),
    slot: optional(text('slot it is limited to')),
    currency: text('ISO 4217 code'),
    basisPoints: integer('rate in hundredths of a percent'),
    percent: text('the same as a percentage: `1.50`'),
    fixed: optional(withDescription(MONEY, 'fixed amount added to the rate')),
    min: optional(withDescription(MONEY, 'minimum fee')),
    max: optional(withDescription(MONEY, 'maximum fee')),
    payments: integer(),
    exactPayments: integer(),
    taken: withDescription(MONEY, 'fees that the provider took, less those by rules of other names'),
    wouldCharge: withDescription(MONEY, 'fees by the proposed rule'),
    error: withDescription(MONEY, 'sum of the absolute differences of the payments'),
    largestError: withDescription(MONEY, 'the largest of these differences'),
    charged: withDescription(MONEY, 'fees by the current rule of this name'),
    chargedError: withDescription(MONEY, 'the sum of its differences'),
    ambiguous: boolean(),
  },
  {
    message: 'hub.payment.v1.FeeFit',
    without: [
      'rule',
      'takenMinorUnits',
      'wouldChargeMinorUnits',
      'errorMinorUnits',
      'largestErrorMinorUnits',
      'chargedMinorUnits',
      'chargedErrorMinorUnits',
    ],
  },
);
export type FeeFitView = ValueOf<typeof FEE_FIT>;

export function feeFitView(fit: FeeFit): FeeFitView {
  const rule = requireField(fit.rule, 'fee rule');
  const { currency } = rule;
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  return {
    name: rule.name,
    ...(rule.gateway !== '' && { gateway: rule.gateway }),
    ...(rule.slot !== '' && { slot: rule.slot }),
    currency,
    basisPoints: rule.basisPoints,
    percent: percentText(rule.basisPoints),
    ...(rule.fixedMinorUnits !== 0n && { fixed: money(rule.fixedMinorUnits) }),
    ...(rule.minMinorUnits !== undefined && { min: money(rule.minMinorUnits) }),
    ...(rule.maxMinorUnits !== undefined && { max: money(rule.maxMinorUnits) }),
    payments: Number(fit.payments),
    exactPayments: Number(fit.exactPayments),
    taken: money(fit.takenMinorUnits),
    wouldCharge: money(fit.wouldChargeMinorUnits),
    error: money(fit.errorMinorUnits),
    largestError: money(fit.largestErrorMinorUnits),
    charged: money(fit.chargedMinorUnits),
    chargedError: money(fit.chargedErrorMinorUnits),
    ambiguous: fit.ambiguous,
  };
}

export const FEE_FIT_COLUMNS: readonly Column<FeeFitView>[] = [
  { title: 'CURRENCY', cell: ({ currency }) => currency },
  { title: 'FEE', cell: termsText },
  { title: 'PAYMENTS', cell: ({ payments }) => payments, right: true },
  { title: 'EXACT', cell: ({ exactPayments }) => exactPayments, right: true },
  { title: 'TAKEN', cell: ({ taken }) => taken.amount, right: true },
  { title: 'WOULD CHARGE', cell: ({ wouldCharge }) => wouldCharge.amount, right: true },
  { title: 'ERROR', cell: ({ error }) => error.amount, right: true },
  { title: 'LARGEST', cell: ({ largestError }) => largestError.amount, right: true },
  { title: 'ERROR NOW', cell: ({ chargedError }) => chargedError.amount, right: true },
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

function termsText({ percent, fixed, min, max }: FeeFitView): string {
  const text = (money: ValueOf<typeof MONEY> | undefined) => money && moneyText(money);
  return feeTermsText({ percent, fixed: text(fixed), min: text(min), max: text(max) });
}

function signed({ amount, minorUnits }: ValueOf<typeof MONEY>): string {
  return minorUnits > 0 ? `+${amount}` : amount;
}
