// Prints a list as a table, as JSON or as CSV, or writes it to a CSV file.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors/failure.ts';
import { addOutFile, maxOption } from '../parse/shared-options.ts';
import { type CsvColumns, csvLines } from './csv.ts';
import { exportLines } from './export-to-file.ts';
import type { ListOptions } from './output.ts';
import type { Column } from './table.ts';

export type FormatOptions = {
  readonly max?: number;
  readonly format?: 'table' | 'csv';
  readonly out?: string;
  readonly force?: true;
};

type Printed<T> = Pick<ListOptions, 'within' | 'none'> & {
  /** Reads pages with at most `max` items. */
  readonly pages: (max: number | undefined) => AsyncIterable<readonly T[]>;
  readonly columns: readonly Column<T>[];
  readonly csv: CsvColumns<T>;
};

/** Adds `--max`, `--format`, `--out` and `--force`. @param what The content of the file: `the licenses` */
export function addFormat(command: Command, what: string): Command {
  command
    .addOption(maxOption())
    .addOption(
      new Option('--format <format>', 'default: table, or csv with --out').choices(['table', 'csv']),
    );
  return addOutFile(command, `${what} as CSV`);
}

/** @throws CliError (usage) if the options contradict each other */
export async function printTableOrCsv<T extends object>(
  commandContext: CommandContext,
  { pages, columns, csv, ...listOptions }: Printed<T>,
  options: FormatOptions,
): Promise<void> {
  const { out } = commandContext;
  const { max, out: path, force, format = path === undefined ? 'table' : 'csv' } = options;
  if (format === 'csv' && path === undefined && out.json())
    throw usageError('--format csv is not JSON: omit --output json.');
  if (format === 'table' && path !== undefined)
    throw usageError('--format table: a file is CSV. Omit --out.');
  if (format === 'table') return out.list(pages(max), columns, listOptions);
  await exportLines(commandContext, { out: path, force }, pages(max), csvLines(csv));
}
