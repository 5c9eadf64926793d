// hubctl license list: as a table, as JSON, or as CSV.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { type LicensePages, licensePages } from '../../connect/license-pages.ts';
import { usageError } from '../../errors/failure.ts';
import { csvLine } from '../../output/csv.ts';
import { EXPORTED, exportToFile, type WriteEntries } from '../../output/export-to-file.ts';
import { either, list } from '../../output/json-schema.ts';
import { addFilter, type FilterOptions, readFilter } from '../../parse/license-filter.ts';
import { addOutFile, maxOption } from '../../parse/shared-options.ts';
import { LICENSE, LICENSE_COLUMNS, LICENSE_CSV } from '../../views/licensing/license.ts';

type ListOptions = Omit<FilterOptions, 'withMetadata'> & {
  readonly metadata?: Record<string, string>;
  readonly max?: number;
  readonly format?: 'table' | 'csv';
  readonly out?: string;
  readonly force?: true;
};

export function addListVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
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
    prints: {
      document: either([list(LICENSE), EXPORTED], 'the licenses; with --out one object that names the file'),
    },
  });
  addFilter(listing, '--metadata')
    .addOption(maxOption())
    .addOption(
      new Option('--format <format>', 'default: table, or csv with --out').choices(['table', 'csv']),
    );
  addOutFile(listing, 'the licenses as CSV').action(async (options: ListOptions) => {
    const { format = options.out === undefined ? 'table' : 'csv', out: path, force, max } = options;
    if (format === 'csv' && path === undefined && out.json())
      throw usageError('--format csv is not JSON: omit --output json.');
    if (format === 'table' && path !== undefined)
      throw usageError('--format table: a file is CSV. Omit --out.');
    const { admin } = await hub('admin');
    const { metadata } = options;
    const filter = readFilter({ ...options, ...(metadata && { withMetadata: metadata }) });
    const found = licensePages({ admin }, filter, max);
    if (path !== undefined)
      return exportToFile(commandContext, { path, force: force === true }, found, writeCsv);
    if (format === 'csv') {
      await writeCsv(found, out.text);
      return;
    }
    const count = await out.list(found, LICENSE_COLUMNS);
    if (count === 0) out.note('No license matches.');
  });
}

/** Writes page by page. Returns the number of licenses. */
async function writeCsv(pages: LicensePages, write: WriteEntries): Promise<number> {
  let header = csvLine(Object.keys(LICENSE_CSV));
  let count = 0;
  for await (const licenses of pages) {
    count += licenses.length;
    const lines = licenses.map((item) => csvLine(Object.values(LICENSE_CSV).map((cell) => cell(item))));
    await write(header + lines.join(''), count);
    header = '';
  }
  return count;
}
