// Writes the usage log as CSV or JSON lines, page by page.

import type { CommandContext } from '../command-context.ts';
import type { UsageView } from '../views/payments/usage.ts';
import { type CsvColumns, csvLines } from './csv.ts';
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
  usageLogId: (entry) => entry.usageLogId,
  sessionId: (entry) => entry.sessionId,
  slot: (entry) => entry.slot,
  gateway: (entry) => entry.gateway,
  gatewayTransactionId: (entry) => entry.gatewayTransactionId,
  orderReference: (entry) => entry.orderReference,
  currency: (entry) => entry.currency,
  amount: (entry) => entry.amount,
  minorUnits: (entry) => String(entry.minorUnits),
  feeTotal: (entry) => entry.feeTotal.amount,
  feeTotalMinorUnits: (entry) => String(entry.feeTotal.minorUnits),
  fees: (entry) => entry.fees.map(({ rule, amount }) => `${rule}=${amount}`).join(';'),
  settledAt: (entry) => entry.settledAt,
  reversedAt: (entry) => entry.reversedAt ?? '',
  kind: (entry) => entry.kind,
  reversesUsageLogId: (entry) => entry.reversesUsageLogId ?? '',
  received: (entry) => entry.received?.amount ?? '',
  receivedMinorUnits: (entry) => (entry.received ? String(entry.received.minorUnits) : ''),
  receivedCurrency: (entry) => entry.received?.currency ?? '',
};
