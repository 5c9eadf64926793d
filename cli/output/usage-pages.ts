// Reads the usage log page by page.

import type { Hub } from '../connect/connection.ts';
import { pages } from '../connect/pages.ts';
import { checkPeriod, timestampOf } from '../parse/parse-time.ts';
import { type UsageView, usageView } from '../views/payments/usage.ts';

export type UsageFilter = { readonly slot?: string; readonly from?: Date; readonly to?: Date };

/** Reads newest first, with one page in memory at a time; at most `max` entries. */
export function usagePages(
  { paymentAdmin }: Pick<Hub, 'paymentAdmin'>,
  { slot, from, to }: UsageFilter,
  max?: number,
): AsyncGenerator<readonly UsageView[]> {
  checkPeriod(from, to);
  const wanted = {
    ...(slot !== undefined && { slot }),
    ...(from !== undefined && { settledFrom: timestampOf(from) }),
    ...(to !== undefined && { settledTo: timestampOf(to) }),
  };
  return pages(async (page) => {
    const { usageLogs, nextPageToken } = await paymentAdmin.listUsageLogs({ ...wanted, ...page });
    return { items: usageLogs.map(usageView), next: nextPageToken };
  }, max);
}
