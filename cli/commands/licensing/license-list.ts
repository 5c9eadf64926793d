// hubctl license list: as a table, as JSON, or as CSV.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { itemsOrExport } from '../../output/export-to-file.ts';
import { addFormat, type FormatOptions, printTableOrCsv } from '../../output/table-or-csv.ts';
import { LICENSE, LICENSE_COLUMNS, LICENSE_CSV } from '../../views/licensing/license.ts';
import * as json from '../../views/schema.ts';
import { addFilter, type FilterOptions, licensePages, readFilter } from './license-filter.ts';

type ListOptions = Omit<FilterOptions, 'withMetadata'> &
  FormatOptions & { readonly metadata?: Record<string, string> };

export function addListVerb(license: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(license, 'list', {
    summary: 'list licenses',
    description:
      'Lists licenses, newest first. Filters combine with AND. Without a filter by customer, key, metadata or search, a list by expiry begins with the latest expiry, and a list by activity with the latest day.',
    notes: [
      'CSV: RFC 4180 with a header. Limits, features and metadata are separated by semicolons. A text that begins with = + - @ gets a leading apostrophe, so that a spreadsheet reads it as text.',
    ],
    examples: [
      'hubctl license list --app photo-lab --state active --max 20',
      'hubctl license list --expires-after 2026-12-01 --expires-before 2027-01-01 --format csv --out december.csv',
    ],
    prints: { document: itemsOrExport(json.list(LICENSE), 'the licenses') },
  });
  addFormat(addFilter(listing, '--metadata'), 'the licenses').action(async (options: ListOptions) => {
    const { metadata, ...rest } = options;
    const filter = readFilter({ ...rest, ...(metadata && { withMetadata: metadata }) });
    const pages = licensePages(hub, filter);
    const printed = { pages, columns: LICENSE_COLUMNS, csv: LICENSE_CSV, none: 'No license matches.' };
    await printTableOrCsv(commandContext, printed, options);
  });
}
