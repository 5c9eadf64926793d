// JSON schemas and columns of fee rules and backtests.
import type { FeeBacktest } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { FeeRule } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { feeRuleScope, feeTermsText, percentText } from '../../../lib/presentation/fee-rule.ts';
import { FEE_RULE_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  list,
  object,
  optional,
  text,
  time,
  type ValueOf,
  withDescription,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { MONEY, type MoneyView, moneyText, moneyView } from './money.ts';
import { FEE_LINE } from './usage.ts';

export const FEE_RULE = object(
  'FeeRule',
  {
    feeRuleId: id('fee'),
    name: text(),
    version: integer(),
    gateway: optional(text('gateway it is limited to')),
    slot: optional(text('slot it is limited to')),
    currency: optional(text('currency it is limited to')),
    basisPoints: integer(),
    percent: text('the same as a percentage: `1.50`'),
    fixed: optional(withDescription(MONEY, 'fixed amount added to the rate')),
    min: optional(withDescription(MONEY, 'minimum fee')),
    max: optional(withDescription(MONEY, 'maximum fee')),
    validFrom: time(),
    validTo: optional(time('end of validity, exclusive, by settlement time')),
    state: word(FEE_RULE_STATES),
    slotsMayOverride: boolean(),
    addedBySlot: boolean(),
  },
  { message: 'hub.payment.v1.FeeRule', without: ['fixedMinorUnits', 'minMinorUnits', 'maxMinorUnits'] },
);
export type FeeRuleView = ValueOf<typeof FEE_RULE>;

export function feeRuleView(rule: FeeRule): FeeRuleView {
  const { currency } = rule;
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  return {
    feeRuleId: rule.feeRuleId,
    name: rule.name,
    version: rule.version,
    ...(rule.gateway !== '' && { gateway: rule.gateway }),
    ...(rule.slot !== '' && { slot: rule.slot }),
    ...(currency !== '' && { currency }),
    basisPoints: rule.basisPoints,
    percent: percentText(rule.basisPoints),
    ...(rule.fixedMinorUnits !== 0n && { fixed: money(rule.fixedMinorUnits) }),
    ...(rule.minMinorUnits !== undefined && { min: money(rule.minMinorUnits) }),
    ...(rule.maxMinorUnits !== undefined && { max: money(rule.maxMinorUnits) }),
    validFrom: rfc3339(requireField(rule.validFrom, 'begin')),
    ...(rule.validTo && { validTo: rfc3339(rule.validTo) }),
    state: wordFor(FEE_RULE_STATES, rule.state),
    slotsMayOverride: rule.slotsMayOverride,
    addedBySlot: rule.addedBySlot,
  };
}

/** For the list of rules and for one rule. */
export const FEE_RULE_COLUMNS: readonly Column<FeeRuleView>[] = [
  { title: 'Fee rule', cell: (rule) => rule.feeRuleId },
  { title: 'Name', cell: (rule) => rule.name },
  { title: 'Version', cell: (rule) => rule.version, right: true },
  { title: 'For', cell: feeRuleScope },
  { title: 'Fee', cell: termsText },
  { title: 'State', cell: stateText },
  { title: 'From', cell: (rule) => shortTime(rule.validFrom) },
  { title: 'To', cell: (rule) => shortTime(rule.validTo) },
];

export const FEE_PREVIEW = object(
  'FeePreview',
  { fees: list(FEE_LINE), feeTotal: withDescription(MONEY, 'their sum') },
  { message: 'hub.payment.v1.PreviewFeesResponse' },
);

export const FEE_BACKTEST = object(
  'FeeBacktest',
  {
    currency: text(),
    payments: integer(),
    paid: withDescription(MONEY, 'sum of these payments'),
    charged: withDescription(MONEY, 'fees by the current rule of this name'),
    wouldCharge: withDescription(MONEY, 'fees by the changed rule'),
    difference: withDescription(MONEY, 'the increase; negative for a decrease'),
  },
  {
    message: 'hub.payment.v1.FeeBacktest',
    without: ['paidMinorUnits', 'chargedMinorUnits', 'wouldChargeMinorUnits'],
  },
);
export type FeeBacktestView = ValueOf<typeof FEE_BACKTEST>;

export function feeBacktestView(result: FeeBacktest): FeeBacktestView {
  const { currency, chargedMinorUnits, wouldChargeMinorUnits } = result;
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  return {
    currency,
    payments: Number(result.payments),
    paid: money(result.paidMinorUnits),
    charged: money(chargedMinorUnits),
    wouldCharge: money(wouldChargeMinorUnits),
    difference: money(wouldChargeMinorUnits - chargedMinorUnits),
  };
}

export const FEE_BACKTEST_COLUMNS: readonly Column<FeeBacktestView>[] = [
  { title: 'CURRENCY', cell: (item) => item.currency },
  { title: 'PAYMENTS', cell: (item) => item.payments, right: true },
  { title: 'PAID', cell: (item) => item.paid.amount, right: true },
  { title: 'CHARGED', cell: (item) => item.charged.amount, right: true },
  { title: 'WOULD CHARGE', cell: (item) => item.wouldCharge.amount, right: true },
  {
    title: 'DIFFERENCE',
    cell: ({ difference }) => `${difference.minorUnits < 0 ? '' : '+'}${difference.amount}`,
    right: true,
  },
];

function stateText({ state }: FeeRuleView): string {
  return state.replace('_', ' ');
}

function termsText({ percent, fixed, min, max }: FeeRuleView): string {
  const text = (money: MoneyView | undefined) => money && moneyText(money);
  return feeTermsText({ percent, fixed: text(fixed), min: text(min), max: text(max) });
}
