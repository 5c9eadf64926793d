// hubctl key: issues licenses and hands out their keys.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { parseExpiry } from '../expiry.ts';
import { type IssueOptions, issueKeys } from '../issue-keys.ts';
import { addLimit, parseCount, parseInteger, parseSeats } from '../quantities.ts';

const HELP = `
JSON: one object, or an array when --count is given (--count 1 too); with --out,
an object that names the file. Each license has at least licenseId, licenseKey,
seats (a number, -1 is unlimited) and limits (an object).

CSV (--out): RFC 4180 with a header, readable by its owner only. A customer that
begins with = + - @ gets a leading apostrophe, so that a spreadsheet takes it
for text.

Examples:
  hubctl key issue --app photo-lab --seats 3 --customer "Ada Lovelace" --expires 1y
  hubctl key issue --app photo-lab --seats unlimited --limit projects=10
  hubctl key issue --app photo-lab --profile pro --count 10000 --out keys.csv`;

export function registerKey(program: Command, context: Context): void {
  const key = program
    .command('key')
    .summary('license keys')
    .description('License keys. The hub shows a key once, when it issues it, and keeps only a hash.');

  key
    .command('issue')
    .summary('issue licenses with their keys')
    .description('Issues one license or many alike, and prints their keys or writes them to a file.')
    .requiredOption('--app <slug>', 'the app')
    .option('--seats <n>', 'machines that may be active at the same time, or unlimited', parseSeats, 1)
    .option('--profile <name>', 'limit profile to take limits from')
    .option('--limit <name=value>', "limit of the license's own, over the profile's; repeatable", addLimit)
    .option(
      '--expires <when>',
      'last day in UTC (2026-12-31), RFC 3339 time, or duration (30d, 2w, 1y); default: never',
      (text: string) => parseExpiry(text, new Date()),
    )
    .option('--customer <text>', 'whom it is issued to; part of the signed license')
    .option('--lease-days <n>', 'days a signed copy is good without contact to the hub', parseInteger)
    .option('--count <n>', 'how many to issue', parseCount)
    .option('--out <file>', 'write the keys to this CSV file instead of standard output')
    .option('--force', 'overwrite that file if it exists')
    .addHelpText('after', HELP)
    .action((options: IssueOptions) => issueKeys(context, options));
}
