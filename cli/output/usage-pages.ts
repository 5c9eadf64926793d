// Reads the usage log page by page.

import { readPages } from '../connect/calls.ts';
import type { Hub } from '../connect/connection.ts';
import { checkPeriod, timestampOf } from '../parse/parse-time.ts';
import { usageView } from '../views/payments/usage.ts';

export type UsageFilter = {
  readonly slot?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** Reads newest first, with one page in memory at a time. @throws CliError (usage) for an empty period */
export function usagePages({ paymentAdmin }: Pick<Hub, 'paymentAdmin'>, { slot, from, to }: UsageFilter) {
  checkPeriod(from, to);
  const wanted = { slot, settledFrom: from && timestampOf(from), settledTo: to && timestampOf(to) };
  return readPages(paymentAdmin.listUsageLogs, wanted, 'usageLogs', usageView);
}
