// Writes the usage log as CSV or JSON lines, page by page.

import type { CommandContext } from '../command-context.ts';
import type { UsageView } from '../views/payments/usage.ts';
import { type CsvColumns, csv, csvLines } from './csv.ts';
import { exportLines, JSON_LINES } from './export-to-file.ts';
import { type UsageFilter, usagePages } from './usage-pages.ts';

export const USAGE_FORMATS = ['csv', 'jsonl'] as const;

export type Format = (typeof USAGE_FORMATS)[number];

export type ExportOptions = UsageFilter & {
  readonly format: Format;
  readonly out?: string;
  readonly force?: true;
};

export async function exportUsage(
  commandContext: Pick<CommandContext, 'progress' | 'out' | 'hub' | 'streams' | 'interruption'>,
  { format, out, force, ...filter }: ExportOptions,
): Promise<void> {
  const lines = format === 'csv' ? csvLines(CSV_COLUMNS) : JSON_LINES;
  await exportLines(commandContext, { out, force }, usagePages(commandContext.hub, filter)(), lines);
}

const CSV_COLUMNS: CsvColumns<UsageView> = {
  ...csv<UsageView>('usageLogId', 'sessionId', 'slot', 'gateway', 'gatewayTransactionId', 'orderReference'),
  ...csv<UsageView>('currency', 'amount', 'minorUnits'),
  feeTotal: (entry) => entry.feeTotal.amount,
  feeTotalMinorUnits: (entry) => String(entry.feeTotal.minorUnits),
  fees: (entry) => entry.fees.map(({ rule, amount }) => `${rule}=${amount}`).join(';'),
  ...csv<UsageView>('settledAt', 'reversedAt', 'kind', 'reversesUsageLogId'),
  received: (entry) => entry.received?.amount ?? '',
  receivedMinorUnits: (entry) => (entry.received ? String(entry.received.minorUnits) : ''),
  receivedCurrency: (entry) => entry.received?.currency ?? '',
};
