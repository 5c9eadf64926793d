// hubctl key: issues licenses with their keys, and manages the secrets of the keys.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { parseExpiry } from '../../parse/parse-expiry.ts';
import {
  parseCount,
  parseCountOrZero,
  parseLimit,
  parsePair,
  parseSeats,
  parseText,
} from '../../parse/parse-number.ts';
import { parsePeriod, readPeriod } from '../../parse/parse-period.ts';
import { parseLeaseDays, parseNames } from '../../parse/parse-terms.ts';
import { addOutFile, expiresOption } from '../../parse/shared-options.ts';
import { ISSUED_LICENSES, type IssueOptions, issueKeys } from './issue-keys.ts';
import { addImportVerb } from './key-import.ts';
import { addKeySecretVerbs } from './key-secrets.ts';

export const registerKey = nounOf(
  'key',
  'License keys. The hub stores a hash of a key only, and derives the key again from a secret to show it: `hubctl license key`.',
  [addIssueVerb, addImportVerb, addKeySecretVerbs],
);

function addIssueVerb(key: Command, commandContext: CommandContext): void {
  const issue = addVerb(key, 'issue', {
    summary: 'issue licenses with their keys',
    description:
      'Issues one license, or many with the same terms, and prints their keys or writes them to a file.',
    notes: [
      'With --idempotency-key, a repeated command prints the same licenses and keys. More than 1000 licenses take several calls, each with a key derived from it.',
      'The file is CSV: RFC 4180 with a header, readable by its owner only. A customer that begins with = + - @ gets a leading apostrophe, so that a spreadsheet reads it as text.',
      'Ctrl-C, SIGTERM and SIGHUP end it after the current call: the issued keys are in the file, and the message says how many. If keys may be missing, as in a pipe whose reader exits, the message names their licenses: `hubctl license key` shows their keys.',
    ],
    examples: [
      'hubctl key issue --app photo-lab --seats 3 --customer "Ada Lovelace" --expires 1y',
      'hubctl key issue --app photo-lab --customer-email ada@example.com --feature export --idempotency-key ORD-1183',
      'hubctl key issue --app photo-lab --seats unlimited --limit projects=10',
      'hubctl key issue --app photo-lab --profile pro --count 10000 --out keys.csv',
    ],
    prints: { document: ISSUED_LICENSES },
  }).requiredOption('--app <app>', 'the app');
  addTerms(issue)
    .option('--count <n>', 'how many to issue', parseCount)
    .option(
      '--idempotency-key <key>',
      'value of your own, such as an order number: a repeated command with it issues nothing more',
      parseText,
    );
  addOutFile(issue, 'the keys as CSV').action((options: IssueOptions) => issueKeys(commandContext, options));
}

function readExpiry(text: string): IssueOptions['expires'] {
  return { at: parseExpiry(text, new Date()), isPeriod: readPeriod(text) !== undefined };
}

function addTerms(issue: Command): Command {
  return issue
    .option(
      '--seats <n>',
      'machines that can be active at the same time, or unlimited (default: that of the app)',
      parseSeats,
    )
    .option('--profile <profile>', 'limit profile to take limits from')
    .option(
      '--limit <name=value>',
      'limit of this license, which overrides the profile; repeatable',
      parseLimit,
    )
    .option('--feature <name>', 'feature that the license unlocks; repeatable', parseNames)
    .addOption(expiresOption(readExpiry).conflicts('validFor'))
    .option('--valid-for <period>', 'validity from the first activation: 1y, 6m, 2w, 30d, 1y6m', parsePeriod)
    .option(
      '--grace-days <n>',
      'days that it stays valid after its expiry (default: that of the app)',
      parseCountOrZero,
    )
    .option(
      '--lease-days <n>',
      'days that a signed license is valid without contacting the hub, or none (default: that of the app)',
      parseLeaseDays,
    )
    .addOption(
      new Option('--customer-id <customerId>', 'the customer, cus_…').conflicts([
        'customer',
        'customerEmail',
      ]),
    )
    .option('--customer <text>', 'name of a customer; the hub creates one if there is none; signed')
    .option(
      '--customer-email <address>',
      'email of a customer; the hub creates one if there is none, with the email as name unless --customer is given',
    )
    .option('--metadata <name=value>', 'entry of your own data; repeatable', parsePair)
    .option(
      '--sign-metadata <names>',
      'entries of metadata that signed licenses contain; repeatable',
      parseNames,
    );
}
