// JSON schema and columns of the payments of one day in one currency.
import type { UsageDay } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { MONEY, moneyMembers, moneyText } from './money.ts';

export const USAGE_DAY = json.view(
  'UsageDay',
  { message: 'hub.payment.v1.UsageDay', without: ['feeMinorUnits'] },
  {
    day: json.text(),
    currency: json.text(),
    payments: json.integer(),
    paid: json.withDescription(MONEY, 'sum of these payments'),
    fees: json.withDescription(MONEY, 'sum of their fees'),
    reversedPayments: json.integer(),
    reversed: json.withDescription(MONEY, 'sum of these reversals'),
    refunds: json.integer(),
    refunded: json.withDescription(MONEY, 'sum of these refunds'),
    net: json.withDescription(MONEY, 'payments less reversals and refunds'),
  },
);
export type UsageDayView = json.ValueOf<typeof USAGE_DAY>;

export function usageDayView(day: UsageDay): UsageDayView {
  const { fee, ...money } = moneyMembers(day);
  return json.viewOf(USAGE_DAY, day, { ...money, fees: fee });
}

export const USAGE_DAY_COLUMNS: readonly Column<UsageDayView>[] = [
  ...columnsOf(USAGE_DAY, 'day', 'payments'),
  { title: 'Paid', cell: (item) => moneyText(item.paid), right: true },
  { title: 'Fees', cell: (item) => moneyText(item.fees), right: true },
  { title: 'Reversed', cell: (item) => item.reversedPayments, right: true },
  { title: 'Amount', cell: (item) => moneyText(item.reversed), right: true },
  { title: 'Refunds', cell: (item) => item.refunds, right: true },
  { title: 'Refunded', cell: (item) => moneyText(item.refunded), right: true },
  { title: 'Net', cell: (item) => moneyText(item.net), right: true },
];
