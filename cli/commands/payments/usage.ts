// hubctl usage: the usage log of payments.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { usageError } from '../../errors/failure.ts';
import { itemsOrExport } from '../../output/export-to-file.ts';
import { type ExportOptions, exportUsage, type Format, USAGE_FORMATS } from '../../output/export-usage.ts';
import { type UsageFilter, usagePages } from '../../output/usage-pages.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { checkPeriod, parseBound, timestampOf } from '../../parse/parse-time.ts';
import { addOutFile, addPeriod, maxOption } from '../../parse/shared-options.ts';
import { USAGE_COLUMNS, USAGE_LOG } from '../../views/payments/usage.ts';
import { USAGE_DAY, USAGE_DAY_COLUMNS, usageDayView } from '../../views/payments/usage-day.ts';
import { addReconcileVerb } from './usage-reconcile.ts';

export function registerUsage(program: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const usage = addNoun(
    program,
    'usage',
    'One entry of kind payment for each paid session, with its fees. Refunds, reversals, and payments after a reversal, are separate entries; refunded and reversed amounts are negative.',
  );

  const listing = addVerb(usage, 'list', {
    summary: 'list the usage log',
    description: 'Lists the usage log, newest first.',
    examples: ['hubctl usage list --slot main --from 2026-01-01'],
    prints: { list: USAGE_LOG },
  });
  addWatch(withFilter(listing).addOption(maxOption())).action(
    async ({ slot, from, to, ...options }: UsageFilter & ListingOptions) => {
      const pages = usagePages(hub, { slot, from, to });
      await printList(commandContext, { pages, columns: USAGE_COLUMNS, none: 'No entry matches.' }, options);
    },
  );

  addVerb(usage, 'sum', {
    summary: 'sum up payments by day',
    description:
      'Sums the usage log up by day (UTC) and currency, the oldest day first: payments, amounts, fees, reversals, and the net amount. A reversal counts on its own day.',
    examples: ['hubctl usage sum --from 2026-01-01 --to 2026-02-01'],
    prints: { list: USAGE_DAY },
  })
    .option('--slot <slot>', 'only payments of this slot')
    .requiredOption('--from <when>', 'payments settled from this day (UTC) or time on', parseBound)
    .requiredOption(
      '--to <when>',
      'payments settled before this day (UTC) or time, 400 days later at most',
      parseBound,
    )
    .action(async ({ slot, from, to }: { slot?: string; from: Date; to: Date }) => {
      checkPeriod(from, to);
      const { days } = await hub.paymentAdmin.summarizeUsage({
        slot,
        settledFrom: timestampOf(from),
        settledTo: timestampOf(to),
      });
      await out.list([days.map(usageDayView)], USAGE_DAY_COLUMNS, {
        none: 'Nothing was paid in this period.',
      });
    });

  addReconcileVerb(usage, commandContext);

  const exporting = addVerb(usage, 'export', {
    summary: 'export the usage log to a file',
    description: 'Exports the usage log to a file or to standard output, newest first.',
    notes: [
      'CSV: RFC 4180 with a header. Amounts are decimals and minor units (10000 is 100.00 BDT); fees are name=amount, separated by semicolons. The amount of a reversal is negative, so that the sum of a column is the net amount. A text that begins with = + - @ gets a leading apostrophe, so that a spreadsheet reads it as text. JSON lines: one object per line, as `usage list` prints them.',
    ],
    examples: ['hubctl usage export --from 2026-01-01 --to 2026-02-01 --out january.csv'],
    prints: { lines: itemsOrExport(USAGE_LOG, 'the entries') },
  });
  withFilter(exporting).addOption(
    new Option('--format <format>', 'default: csv, or jsonl with --output json').choices(USAGE_FORMATS),
  );
  addOutFile(exporting, 'the entries').action(
    (given: Omit<ExportOptions, 'format'> & { format?: Format }) => {
      const asJson = out.json() && given.out === undefined;
      if (asJson && given.format === 'csv') throw usageError('--format csv is not JSON: omit --output json.');
      return exportUsage(commandContext, { ...given, format: given.format ?? (asJson ? 'jsonl' : 'csv') });
    },
  );
}

function withFilter(command: Command): Command {
  return addPeriod(command.option('--slot <slot>', 'only payments of this slot'), 'those settled');
}
