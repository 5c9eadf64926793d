// Prints results to standard output, as aligned text or JSON, and notes to standard error.
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { outputError } from '../errors/failure.ts';
import { printable, printableJson } from './printable.ts';
import type { Progress } from './progress.ts';
import { type Column, createTable, recordLines } from './table.ts';

export type ListOptions = {
  /**
   * Whether the output reports a completed change. Such output fails even if the reader closes the pipe
   * early.
   */
  readonly ofChange?: boolean;
  /** A note for an empty list. */
  readonly none?: string;
  /** In JSON: the members of the enclosing object that hold the array and the number of items. */
  readonly within?: { readonly items: string; readonly count: string };
};

/** Printing functions. Each throws a CliError (output_failed) if standard output cannot be written. */
export type Output = {
  /** Prints one result: a JSON object, or as text a line for each column that has a value. */
  record<T extends object>(item: T, columns: readonly Column<T>[]): Promise<void>;
  /** Prints pages of results as they arrive: one JSON array, or one table. */
  list<T extends object>(
    pages: Pages<T>,
    columns: readonly Column<T>[],
    options?: ListOptions,
  ): Promise<void>;
  /** Prints a table under a record, unless it is empty. JSON has the items in the record. */
  below<T extends object>(items: readonly T[], columns: readonly Column<T>[]): Promise<void>;
  text(piece: string): Promise<void>;
  /**
   * Prints a note to standard error. Silent with JSON output, which reserves standard error for the error
   * object.
   */
  note(text: string): void;
  json(): boolean;
};

type Pages<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>;
type Printer = {
  readonly stream: Writable;
  readonly progress: Pick<Progress, 'clear'>;
  readonly mayLeave: boolean;
};

/** @param progress Progress line, cleared before anything else is printed. */
export function createOutput(
  { stdout: out, stderr }: { stdout: Writable; stderr: Writable },
  json: () => boolean,
  progress: Pick<Progress, 'clear'> = { clear: () => {} },
): Output {
  const stdout = { stream: out, progress, mayLeave: true };
  const whole = { ...stdout, mayLeave: false };
  const bold = (text: string) => styleText('bold', text, { stream: out }); // plain text without a terminal and with NO_COLOR
  const note = (text: string): void => {
    progress.clear();
    if (!json()) stderr.write(`${printable(text)}\n`);
  };
  return {
    json,
    note,
    record: async (item, columns) => {
      if (json()) return write(whole, `${printableJson(item, 2)}\n`);
      const lines = recordLines(item, columns).map(({ title, value }) => `${bold(title)}  ${value}\n`);
      return write(whole, lines.join(''));
    },
    below: async (items, columns) => {
      if (json() || items.length === 0) return;
      await write(whole, '\n');
      await table(whole, [items], columns, bold);
    },
    text: (piece) => write(stdout, piece),
    list: async (pages, columns, { ofChange = false, none, within } = {}) => {
      const printer = ofChange ? whole : stdout;
      const count = await (json() ? jsonArray(printer, pages, within) : table(printer, pages, columns, bold));
      if (count === 0 && none !== undefined) note(none);
    },
  };
}

async function jsonArray<T>(stdout: Printer, pages: Pages<T>, within: ListOptions['within']) {
  const before = within === undefined ? '' : `{${JSON.stringify(within.items)}: `;
  let count = 0;
  for await (const items of pages) {
    const lines = items.map(
      (item, index) => `${count + index === 0 ? `${before}[` : ','}\n  ${printableJson(item)}`,
    );
    await write(stdout, lines.join(''));
    count += items.length;
  }
  const after = within === undefined ? '' : `, ${JSON.stringify(within.count)}: ${count}}`;
  await write(stdout, `${count === 0 ? `${before}[]` : '\n]'}${after}\n`);
  return count;
}

async function table<T>(
  stdout: Printer,
  pages: Pages<T>,
  columns: readonly Column<T>[],
  bold: (text: string) => string,
) {
  const layout = createTable(columns);
  let count = 0;
  for await (const items of pages) {
    if (items.length === 0) continue;
    if (count === 0) await write(stdout, `${bold(layout.header(items))}\n`);
    await write(stdout, layout.rows(items));
    count += items.length;
  }
  return count;
}

/** Resolves once the operating system has accepted the text. */
async function write({ stream, progress, mayLeave }: Printer, text: string): Promise<void> {
  progress.clear();
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error) reject(outputError(error, mayLeave));
      else resolve();
    });
  });
}
