// Groups usage by currency and day, and adds the days without payments, which the hub omits.

import { create } from '@bufbuild/protobuf';
import { type UsageDay, UsageDaySchema } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { DAY_MS } from '../../lib/presentation/calendar.ts';

export type CurrencyUsage = {
  readonly currency: string;
  /** Every day of the period, oldest first. */
  readonly days: readonly UsageDay[];
  /** Sum over the period; its `day` is empty. */
  readonly total: UsageDay;
};

/** The starts of the last `count` days in UTC including today, oldest first. */
export function daysBack(count: number, now: Date): Date[] {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, index) => new Date(today - (count - 1 - index) * DAY_MS));
}

export function byCurrency(period: readonly Date[], given: readonly UsageDay[]): CurrencyUsage[] {
  const currencies = Map.groupBy(given, ({ currency }) => currency);
  return [...currencies].map(([currency, days]) => {
    const byDay = new Map(days.map((day) => [day.day, day]));
    return {
      currency,
      days: period.map((date) => {
        const day = date.toISOString().slice(0, 10);
        return byDay.get(day) ?? create(UsageDaySchema, { day, currency });
      }),
      total: days.reduce(added, create(UsageDaySchema, { currency })),
    };
  });
}

function added(sum: UsageDay, day: UsageDay): UsageDay {
  return {
    ...sum,
    payments: sum.payments + day.payments,
    paidMinorUnits: sum.paidMinorUnits + day.paidMinorUnits,
    feeMinorUnits: sum.feeMinorUnits + day.feeMinorUnits,
    reversedPayments: sum.reversedPayments + day.reversedPayments,
    reversedMinorUnits: sum.reversedMinorUnits + day.reversedMinorUnits,
    refunds: sum.refunds + day.refunds,
    refundedMinorUnits: sum.refundedMinorUnits + day.refundedMinorUnits,
    netMinorUnits: sum.netMinorUnits + day.netMinorUnits,
  };
}
