// hubctl key: issues licenses and hands out their keys.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { parseCount, parseInteger, parseLimit, parseSeats } from '../../parse/parse-number.ts';
import { addOutFile, expiresOption } from '../../parse/shared-options.ts';
import { ISSUED_LICENSES, type IssueOptions, issueKeys } from './issue-keys.ts';

export function registerKey(program: Command, commandContext: CommandContext): void {
  const key = addNoun(program, 'key', {
    group: 'Licenses:',
    summary: 'license keys',
    description: 'License keys. The hub shows a key once, when it issues it, and keeps only a hash.',
  });

  const issue = addVerb(key, 'issue', {
    summary: 'issue licenses with their keys',
    description:
      'Issues one license, or many with the same terms, and prints their keys or writes them to a file.',
    notes: [
      'The file is CSV: RFC 4180 with a header, readable by its owner only. A customer that begins with = + - @ gets a leading apostrophe, so that a spreadsheet reads it as text.',
      'Ctrl-C, SIGTERM and SIGHUP end it after the current call: the issued keys are in the file, and the message says how many. If keys may be lost, as in a pipe whose reader exits, the message names their licenses.',
    ],
    examples: [
      'hubctl key issue --app photo-lab --seats 3 --customer "Ada Lovelace" --expires 1y',
      'hubctl key issue --app photo-lab --seats unlimited --limit projects=10',
      'hubctl key issue --app photo-lab --profile pro --count 10000 --out keys.csv',
    ],
    prints: { document: ISSUED_LICENSES },
  })
    .requiredOption('--app <app>', 'the app')
    .option('--seats <n>', 'machines that can be active at the same time, or unlimited', parseSeats, 1)
    .option('--profile <profile>', 'limit profile to take limits from')
    .option(
      '--limit <name=value>',
      'limit of this license, which overrides the profile; repeatable',
      parseLimit,
    )
    .addOption(expiresOption())
    .option('--customer <text>', 'customer; part of the signed license')
    .option(
      '--lease-days <n>',
      'days that a signed license is valid without contacting the hub',
      parseInteger,
    )
    .option('--count <n>', 'how many to issue', parseCount);
  addOutFile(issue, 'the keys as CSV').action((options: IssueOptions) => issueKeys(commandContext, options));
}
