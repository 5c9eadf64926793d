// Writes the usage log as CSV or as JSON lines, page by page.
import { unlink } from 'node:fs/promises';
import type { Context } from './context.ts';
import { csvLine } from './csv.ts';
import { PartialFailure } from './failure.ts';
import { openForResults } from './new-file.ts';
import { printableJson } from './printable.ts';
import { createProgress } from './progress.ts';
import { type UsageFilter, usagePages } from './usage-pages.ts';
import type { UsageView } from './views/usage.ts';

export const USAGE_FORMATS = ['csv', 'jsonl'] as const;

export type ExportOptions = UsageFilter & {
  readonly format: (typeof USAGE_FORMATS)[number];
  readonly out?: string;
  readonly force?: true;
};

export async function exportUsage(context: Context, options: ExportOptions): Promise<void> {
  const { format, out: path, force, ...filter } = options;
  const found = usagePages(await context.hub(), filter);
  if (path === undefined) {
    await writeAll(found, format, context.out.text);
    return;
  }
  const exported = await exportToFile(context, path, force === true, (write) =>
    writeAll(found, format, write),
  );
  await context.out.record({ file: path, exported }, [
    { title: 'Written to', cell: (item) => item.file },
    { title: 'Entries', cell: (item) => item.exported },
  ]);
}

type Write = (text: string, count: number) => Promise<void>;

/** A file that was there is emptied by the first page, not before; one made for nothing is removed. */
async function exportToFile(
  { streams }: Context,
  path: string,
  force: boolean,
  run: (write: Write) => Promise<number>,
): Promise<number> {
  const { file, created } = await openForResults(path, force);
  const progress = createProgress(streams, 'Exported', undefined);
  let exported: number | undefined;
  try {
    return await run(async (text, count) => {
      if (exported === undefined) await file.truncate();
      await file.appendFile(text);
      exported = count;
      progress.update(count);
    });
  } catch (error) {
    if (exported === undefined) throw error;
    throw new PartialFailure(`${path} has the ${exported} newest entries only.`, error);
  } finally {
    progress.end();
    await file.close();
    if (exported === undefined && created) await unlink(path);
  }
}

/** Writes page by page, telling how many there are by then. Answers how many there were. */
async function writeAll(
  pages: AsyncIterable<readonly UsageView[]>,
  format: ExportOptions['format'],
  write: Write,
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
};

function csvOf(entry: UsageView): string {
  return csvLine(Object.values(CSV_COLUMNS).map((cell) => cell(entry)));
}
