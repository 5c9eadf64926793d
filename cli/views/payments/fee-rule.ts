// JSON schemas and columns of fee rules and backtests.
import type { FeeBacktest } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { FeeRule } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { FEE_RULE_STATES } from '../../../lib/presentation/enum-names.ts';
import { feeRuleScope, feeTermsText, percentText } from '../../../lib/presentation/fee-rule.ts';
import { requireField } from '../../connect/calls.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { MONEY, type MoneyView, moneyMembers, moneyText, moneyView } from './money.ts';
import { FEE_LINE } from './usage.ts';

export const FEE_RULE = json.view('FeeRule', 'hub.payment.v1.FeeRule', {
  feeRuleId: json.id('fee'),
  name: json.text(),
  version: json.integer(),
  gateway: json.optional(json.text('gateway it is limited to')),
  slot: json.optional(json.text('slot it is limited to')),
  currency: json.optional(json.text('currency it is limited to')),
  basisPoints: json.integer(),
  percent: json.text('the same as a percentage: `1.50`'),
  fixed: json.optional(json.withDescription(MONEY, 'fixed amount added to the rate')),
  min: json.optional(json.withDescription(MONEY, 'minimum fee')),
  max: json.optional(json.withDescription(MONEY, 'maximum fee')),
  validFrom: json.time(),
  validTo: json.optional(json.time('end of validity, exclusive, by settlement time')),
  state: json.word(FEE_RULE_STATES),
  slotsMayOverride: json.boolean(),
  addedBySlot: json.boolean(),
});
export type FeeRuleView = json.ValueOf<typeof FEE_RULE>;

export function feeRuleView(message: FeeRule | undefined): FeeRuleView {
  const rule = requireField(message, 'fee rule');
  return json.viewOf(FEE_RULE, rule, feeTerms(rule));
}

/** What a rule charges: its amounts, and its rate as a percentage. */
export function feeTerms({ currency, basisPoints, ...rule }: FeeRule) {
  const money = (minorUnits: bigint | undefined) =>
    minorUnits === undefined ? undefined : moneyView({ minorUnits, currency });
  return {
    percent: percentText(basisPoints),
    fixed: money(rule.fixedMinorUnits || undefined),
    min: money(rule.minMinorUnits),
    max: money(rule.maxMinorUnits),
  };
}

/** For the list of rules and for one rule. */
export const FEE_RULE_COLUMNS: readonly Column<FeeRuleView>[] = [
  ...columnsOf(FEE_RULE, 'feeRuleId', 'name', 'version'),
  { title: 'For', cell: feeRuleScope },
  { title: 'Fee', cell: termsText },
  { title: 'State', cell: ({ state }) => state.replace('_', ' ') },
  ...columnsOf(FEE_RULE, { validFrom: 'From', validTo: 'To' }),
];

export const FEE_PREVIEW = json.view('FeePreview', 'hub.payment.v1.PreviewFeesResponse', {
  fees: json.list(FEE_LINE),
  feeTotal: json.withDescription(MONEY, 'their sum'),
});

export const FEE_BACKTEST = json.view('FeeBacktest', 'hub.payment.v1.FeeBacktest', {
  currency: json.text(),
  payments: json.integer(),
  paid: json.withDescription(MONEY, 'sum of these payments'),
  charged: json.withDescription(MONEY, 'fees by the current rule of this name'),
  wouldCharge: json.withDescription(MONEY, 'fees by the changed rule'),
  difference: json.withDescription(MONEY, 'the increase; negative for a decrease'),
});
export type FeeBacktestView = json.ValueOf<typeof FEE_BACKTEST>;

export function feeBacktestView(result: FeeBacktest): FeeBacktestView {
  const differenceMinorUnits = result.wouldChargeMinorUnits - result.chargedMinorUnits;
  return json.viewOf(FEE_BACKTEST, result, moneyMembers({ ...result, differenceMinorUnits }));
}

export const FEE_BACKTEST_COLUMNS: readonly Column<FeeBacktestView>[] = [
  ...columnsOf(FEE_BACKTEST, 'currency', 'payments'),
  { title: 'Paid', cell: (item) => item.paid.amount, right: true },
  { title: 'Charged', cell: (item) => item.charged.amount, right: true },
  { title: 'Would charge', cell: (item) => item.wouldCharge.amount, right: true },
  {
    title: 'Difference',
    cell: ({ difference }) => `${difference.minorUnits < 0 ? '' : '+'}${difference.amount}`,
    right: true,
  },
];

type TermsView = Pick<FeeRuleView, 'percent' | 'fixed' | 'min' | 'max'>;

export function termsText({ percent, fixed, min, max }: TermsView): string {
  const text = (money: MoneyView | undefined) => money && moneyText(money);
  return feeTermsText({ percent, fixed: text(fixed), min: text(min), max: text(max) });
}
