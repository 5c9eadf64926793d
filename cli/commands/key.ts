// hubctl key: issues licenses and hands out their keys.
import type { Command } from 'commander';
import { ISSUED_LICENSES, type IssueOptions, issueKeys } from '../issue-keys.ts';
import { addNoun, addVerb } from '../manual.ts';
import { addLimit, parseCount, parseInteger, parseSeats } from '../quantities.ts';
import { addOutFile, expiresOption } from '../shared-options.ts';
import type { Tools } from '../tools.ts';

export function registerKey(program: Command, tools: Tools): void {
  const key = addNoun(program, 'key', {
    group: 'Licenses:',
    summary: 'license keys',
    description: 'License keys. The hub shows a key once, when it issues it, and keeps only a hash.',
  });

  const issue = addVerb(key, 'issue', {
    summary: 'issue licenses with their keys',
    description: 'Issues one license or many alike, and prints their keys or writes them to a file.',
    notes: [
      'The file is CSV: RFC 4180 with a header, readable by its owner only. A customer that begins with = + - @ gets a leading apostrophe, so that a spreadsheet takes it for text.',
      'Ctrl-C, SIGTERM and SIGHUP end it after the call under way: the keys that were issued are in the file, and the message says how many. Where keys may be lost, as in a pipe whose reader leaves, the message names their licenses.',
    ],
    examples: [
      'hubctl key issue --app photo-lab --seats 3 --customer "Ada Lovelace" --expires 1y',
      'hubctl key issue --app photo-lab --seats unlimited --limit projects=10',
      'hubctl key issue --app photo-lab --profile pro --count 10000 --out keys.csv',
    ],
    prints: { document: ISSUED_LICENSES },
  })
    .requiredOption('--app <app>', 'the app')
    .option('--seats <n>', 'machines that may be active at the same time, or unlimited', parseSeats, 1)
    .option('--profile <profile>', 'limit profile to take limits from')
    .option('--limit <name=value>', "limit of the license's own, over the profile's; repeatable", addLimit)
    .addOption(expiresOption())
    .option('--customer <text>', 'whom it is issued to; part of the signed license')
    .option('--lease-days <n>', 'days a signed copy is good without contact to the hub', parseInteger)
    .option('--count <n>', 'how many to issue', parseCount);
  addOutFile(issue, 'the keys as CSV').action((options: IssueOptions) => issueKeys(tools, options));
}
