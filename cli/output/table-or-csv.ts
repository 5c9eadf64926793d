// Prints a list as a table, as JSON or as CSV, or writes it to a CSV file.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors/failure.ts';
import { addOutFile, maxOption } from '../parse/shared-options.ts';
import { csvLine } from './csv.ts';
import { exportToFile, type WriteEntries } from './export-to-file.ts';
import type { ListOptions } from './output.ts';
import type { Column } from './table.ts';

/** Values of `--max`, `--format`, `--out` and `--force`. */
export type FormatOptions = {
  readonly max?: number;
  readonly format?: 'table' | 'csv';
  readonly out?: string;
  readonly force?: true;
};

export type CsvColumns<T> = Readonly<Record<string, (item: T) => string>>;

type Printed<T> = Pick<ListOptions, 'within'> & {
  readonly columns: readonly Column<T>[];
  readonly csv: CsvColumns<T>;
  /** Text for an empty list. */
  readonly none: string;
};

/**
 * Adds `--max`, `--format`, `--out` and `--force`.
 * @param what The content of the file: `the licenses`
 */
export function addFormat(command: Command, what: string): Command {
  command
    .addOption(maxOption())
    .addOption(
      new Option('--format <format>', 'default: table, or csv with --out').choices(['table', 'csv']),
    );
  return addOutFile(command, `${what} as CSV`);
}

/**
 * @param find Called after the options are checked.
 * @throws CliError (usage) if the options contradict each other
 */
export async function printTableOrCsv<T extends object>(
  commandContext: CommandContext,
  find: () => Promise<AsyncIterable<readonly T[]>>,
  { columns, csv, none, within }: Printed<T>,
  options: FormatOptions,
): Promise<void> {
  const { out } = commandContext;
  const { out: path, force, format = path === undefined ? 'table' : 'csv' } = options;
  if (format === 'csv' && path === undefined && out.json())
    throw usageError('--format csv is not JSON: omit --output json.');
  if (format === 'table' && path !== undefined)
    throw usageError('--format table: a file is CSV. Omit --out.');
  const pages = await find();
  const write = (found: AsyncIterable<readonly T[]>, to: WriteEntries) => writeCsv(found, csv, to);
  if (path !== undefined) return exportToFile(commandContext, { path, force: force === true }, pages, write);
  if (format === 'csv') {
    await write(pages, out.text);
    return;
  }
  const count = await out.list(pages, columns, within && { within });
  if (count === 0) out.note(none);
}

/** Writes page by page. Returns the number of items. */
async function writeCsv<T>(
  pages: AsyncIterable<readonly T[]>,
  columns: CsvColumns<T>,
  write: WriteEntries,
): Promise<number> {
  let header = csvLine(Object.keys(columns));
  let count = 0;
  for await (const items of pages) {
    count += items.length;
    const lines = items.map((item) => csvLine(Object.values(columns).map((cell) => cell(item))));
    await write(header + lines.join(''), count);
    header = '';
  }
  return count;
}
