// hubctl key import: licenses with keys of another system.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { parsePair } from '../../parse/parse-number.ts';
import { IMPORT_RESULT, type ImportOptions } from './import-result.ts';

export function addImportVerb(key: Command, commandContext: CommandContext): void {
  addVerb(key, 'import', {
    summary: 'import licenses with keys of another system',
    description:
      'Imports the licenses of a file with the keys that customers have: all of them or, if a line has an error, none. The hub stores a keyed hash of each key and cannot show it again.',
    notes: [
      'The file is CSV with a header (commas, semicolons or tabs) or JSON. The columns are licenseKey, seats, profile, limits, features, expiresAt, graceDays, leaseDays, customer, email, customerRef, createdAt, revoked, metadata.NAME and limits.NAME, in any case and order; only licenseKey is required. An empty cell means the default of the app.',
      'A customer is found by customerRef, without one by email, without both by name, and created if there is none. Existing customers are never changed.',
      'A file has at most 100000 licenses.',
    ],
    examples: [
      'hubctl key import --app photo-lab licenses.csv --dry-run',
      'hubctl key import --app photo-lab --map "Order no=metadata.order" --map Notes=- licenses.csv',
      'hubctl key import --app photo-lab --source keygen licenses.json',
    ],
    prints: { document: IMPORT_RESULT },
  })
    .argument('<file>', 'the file, or - for standard input')
    .requiredOption('--app <app>', 'the app')
    .addOption(
      new Option('--source <system>', 'read the export of this system').choices(['keygen', 'cryptolens']),
    )
    .option(
      '--map <column=field>',
      'field that a column sets, or - to ignore the column; repeatable',
      parsePair,
    )
    .option('--allow-short', 'accept keys of fewer than 16 characters, which others could guess')
    .option('--dry-run', 'check the file and import nothing')
    .action(async (file: string, options: ImportOptions) => {
      const { importKeys } = await import('./import-keys.ts'); // loads the contract and the parser
      await importKeys(commandContext, file, options);
    });
}
