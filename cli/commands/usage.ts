// hubctl usage: the log of what was paid.
import { type Command, Option } from 'commander';
import { parseBound } from '../calendar.ts';
import type { Context } from '../context.ts';
import { type ExportOptions, exportUsage, USAGE_FORMATS } from '../export-usage.ts';
import { parseCount } from '../quantities.ts';
import { type UsageFilter, usagePages } from '../usage-pages.ts';
import { USAGE_COLUMNS } from '../views/usage.ts';

const EXPORT_HELP = `
CSV: RFC 4180 with a header. Amounts stand as decimals and in minor units (10000
is 100.00 BDT), the fees of a payment as name=amount, separated by semicolons. A
text that begins with = + - @ gets a leading apostrophe, so that a spreadsheet
takes it for text. JSON lines: an object a line, as \`usage list\` prints them.

Example:
  hubctl usage export --from 2026-01-01 --to 2026-02-01 --out january.csv`;

export function registerUsage(program: Command, context: Context): void {
  const { hub, out } = context;
  const usage = program
    .command('usage')
    .summary('the log of what was paid')
    .description('One entry for each paid session, with its fees.');

  withFilter(usage.command('list'))
    .summary('list what was paid')
    .description('Lists the usage log, newest first.')
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl usage list --slot main --from 2026-01-01')
    .action(async ({ max, ...filter }: UsageFilter & { max?: number }) => {
      const count = await out.list(usagePages(await hub(), filter, max), USAGE_COLUMNS);
      if (count === 0) out.note('Nothing was paid yet, or nothing matches.');
    });

  withFilter(usage.command('export'))
    .summary('write what was paid to a file')
    .description('Writes the usage log to a file or to standard output, newest first.')
    .addOption(new Option('--format <format>', 'csv or jsonl').choices(USAGE_FORMATS).default('csv'))
    .option('--out <file>', 'write to this file instead of standard output')
    .option('--force', 'overwrite that file if it exists')
    .addHelpText('after', EXPORT_HELP)
    .action((options: ExportOptions) => exportUsage(context, options));
}

function withFilter(command: Command): Command {
  return command
    .option('--slot <name>', 'only payments of this slot')
    .option('--from <when>', 'only those settled from this day (UTC) or time on', parseBound)
    .option('--to <when>', 'only those settled before this day (UTC) or time', parseBound);
}
