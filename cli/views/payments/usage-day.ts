// JSON schema and columns of the payments of one day in one currency.
import type { UsageDay } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { integer, object, text, type ValueOf, withDescription } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const USAGE_DAY = object(
  'UsageDay',
  {
    day: text(),
    currency: text(),
    payments: integer(),
    paid: withDescription(MONEY, 'sum of these payments'),
    fees: withDescription(MONEY, 'sum of their fees'),
    reversedPayments: integer(),
    reversed: withDescription(MONEY, 'sum of these reversals'),
    refunds: integer(),
    refunded: withDescription(MONEY, 'sum of these refunds'),
    net: withDescription(MONEY, 'payments less reversals and refunds'),
  },
  {
    message: 'hub.payment.v1.UsageDay',
    without: ['paidMinorUnits', 'feeMinorUnits', 'reversedMinorUnits', 'refundedMinorUnits', 'netMinorUnits'],
  },
);
export type UsageDayView = ValueOf<typeof USAGE_DAY>;

export function usageDayView({ day, currency, ...sums }: UsageDay): UsageDayView {
  const money = (minorUnits: bigint) => moneyView({ minorUnits, currency });
  return {
    day,
    currency,
    payments: Number(sums.payments),
    paid: money(sums.paidMinorUnits),
    fees: money(sums.feeMinorUnits),
    reversedPayments: Number(sums.reversedPayments),
    reversed: money(sums.reversedMinorUnits),
    refunds: Number(sums.refunds),
    refunded: money(sums.refundedMinorUnits),
    net: money(sums.netMinorUnits),
  };
}

export const USAGE_DAY_COLUMNS: readonly Column<UsageDayView>[] = [
  { title: 'DAY', cell: (item) => item.day },
  { title: 'PAYMENTS', cell: (item) => item.payments, right: true },
  { title: 'PAID', cell: (item) => moneyText(item.paid), right: true },
  { title: 'FEES', cell: (item) => moneyText(item.fees), right: true },
  { title: 'REVERSED', cell: (item) => item.reversedPayments, right: true },
  { title: 'AMOUNT', cell: (item) => moneyText(item.reversed), right: true },
  { title: 'REFUNDS', cell: (item) => item.refunds, right: true },
  { title: 'REFUNDED', cell: (item) => moneyText(item.refunded), right: true },
  { title: 'NET', cell: (item) => moneyText(item.net), right: true },
];
