// Fee rules and backtests as hubctl prints them.
import type { FeeBacktest } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { FeeRule } from '../../gen/hub/payment/v1/payment_pb.ts';
import { formatDecimal } from '../decimal.ts';
import { part } from '../reply.ts';
import type { Column } from '../table.ts';
import { rfc3339, shortTime } from './cells.ts';
import { type MoneyView, moneyView } from './money.ts';

export type FeeRuleView = {
  readonly feeRuleId: string;
  readonly name: string;
  readonly version: number;
  readonly gateway?: string;
  readonly slot?: string;
  readonly currency?: string;
  /** Hundredths of a percent of the amount. */
  readonly basisPoints: number;
  /** The same as it is usually said: `1.50`. */
  readonly percent: string;
  readonly fixed?: MoneyView;
  readonly min?: MoneyView;
  readonly max?: MoneyView;
  readonly validFrom: string;
  readonly validTo?: string;
};

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
    percent: (rule.basisPoints / 100).toFixed(2),
    ...(rule.fixedMinorUnits !== 0n && { fixed: money(rule.fixedMinorUnits) }),
    ...(rule.minMinorUnits !== undefined && { min: money(rule.minMinorUnits) }),
    ...(rule.maxMinorUnits !== undefined && { max: money(rule.maxMinorUnits) }),
    validFrom: rfc3339(part(rule.validFrom, 'begin')),
    ...(rule.validTo && { validTo: rfc3339(rule.validTo) }),
  };
}

export const FEE_RULE_COLUMNS: readonly Column<FeeRuleView>[] = [
  { title: 'FEE RULE', cell: (rule) => rule.feeRuleId },
  { title: 'NAME', cell: (rule) => rule.name },
  { title: 'VERSION', cell: (rule) => rule.version, right: true },
  { title: 'FOR', cell: scope },
  { title: 'FEE', cell: fee },
  { title: 'FROM', cell: (rule) => shortTime(rule.validFrom) },
  { title: 'TO', cell: (rule) => shortTime(rule.validTo) },
];

export const FEE_RULE_FIELDS: readonly Column<FeeRuleView>[] = [
  { title: 'Fee rule', cell: (rule) => rule.feeRuleId },
  { title: 'Name', cell: (rule) => rule.name },
  { title: 'Version', cell: (rule) => rule.version },
  { title: 'For', cell: scope },
  { title: 'Fee', cell: fee },
  { title: 'From', cell: (rule) => shortTime(rule.validFrom) },
  { title: 'To', cell: (rule) => shortTime(rule.validTo) },
];

export type FeeBacktestView = {
  readonly currency: string;
  readonly payments: number;
  readonly paid: MoneyView;
  readonly charged: MoneyView;
  readonly wouldCharge: MoneyView;
  /** What the changed rule would have charged more, with its sign. */
  readonly difference: string;
};

export function feeBacktestView(result: FeeBacktest): FeeBacktestView {
  const { currency, chargedMinorUnits, wouldChargeMinorUnits } = result;
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  const more = wouldChargeMinorUnits - chargedMinorUnits;
  const sign = more < 0n ? '-' : '+';
  return {
    currency,
    payments: Number(result.payments),
    paid: money(result.paidMinorUnits),
    charged: money(chargedMinorUnits),
    wouldCharge: money(wouldChargeMinorUnits),
    difference: `${sign}${formatDecimal(more < 0n ? -more : more, currency)}`,
  };
}

export const FEE_BACKTEST_COLUMNS: readonly Column<FeeBacktestView>[] = [
  { title: 'CURRENCY', cell: (item) => item.currency },
  { title: 'PAYMENTS', cell: (item) => item.payments, right: true },
  { title: 'PAID', cell: (item) => item.paid.amount, right: true },
  { title: 'CHARGED', cell: (item) => item.charged.amount, right: true },
  { title: 'WOULD CHARGE', cell: (item) => item.wouldCharge.amount, right: true },
  { title: 'DIFFERENCE', cell: (item) => item.difference, right: true },
];

function scope({ slot, gateway, currency }: FeeRuleView): string {
  return [slot, gateway, currency].filter((part) => part !== undefined).join(', ') || 'any payment';
}

function fee({ percent, fixed, min, max }: FeeRuleView): string {
  const rate = `${percent} %${fixed ? ` + ${fixed.amount}` : ''}`;
  return [rate, min && `at least ${min.amount}`, max && `at most ${max.amount}`].filter(Boolean).join(', ');
}
