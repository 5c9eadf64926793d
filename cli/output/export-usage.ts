// Writes the usage log as CSV or JSON lines, page by page.

import type { CommandContext } from '../command-context.ts';
import type { UsageView } from '../views/payments/usage.ts';
import { csvLine } from './csv.ts';
import { exportToFile, type WriteEntries } from './export-to-file.ts';
import { printableJson } from './printable.ts';
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
  options: ExportOptions,
): Promise<void> {
  const { format, out: path, force, ...filter } = options;
  const found = usagePages(commandContext.hub, filter);
  if (path === undefined) {
    await writeAll(found, format, commandContext.out.text);
    return;
  }
  await exportToFile(commandContext, { path, force: force === true }, found, (pages, write) =>
    writeAll(pages, format, write),
  );
}

/** Writes page by page and reports the number of entries so far. Returns the total. */
async function writeAll(
  pages: AsyncIterable<readonly UsageView[]>,
  format: Format,
  write: WriteEntries,
): Promise<number> {
  const line = format === 'csv' ? csvOf : (entry: UsageView) => `${printableJson(entry)}\n`;
  let header = format === 'csv' ? csvLine(Object.keys(CSV_COLUMNS)) : '';
  let count = 0;
  for await (const entries of pages) {
    count += entries.length;
    await write(header + entries.map(line).join(''), count);
    header = '';
  }
  return count;
}

const CSV_COLUMNS: Readonly<Record<string, (entry: UsageView) => string>> = {
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

function csvOf(entry: UsageView): string {
  return csvLine(Object.values(CSV_COLUMNS).map((cell) => cell(entry)));
}
