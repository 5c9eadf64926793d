// Where results go: standard output, as aligned text or as JSON. Notes go to standard error.
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { outputError } from './failure.ts';
import { printable, printableJson } from './printable.ts';
import type { Progress } from './progress.ts';
import { type Column, createTable, recordLines } from './table.ts';

export type ListOptions = {
  /** Whether it tells of something that was done: who does not hear of that has to know, if he leaves early too. */
  readonly ofChange?: boolean;
  /** In JSON: the member of an object that holds the array, and the one that says how many there were. */
  readonly within?: { readonly items: string; readonly count: string };
};

/** Each of them throws a CliError (output_failed) where standard output takes no more. */
export type Output = {
  /** Prints one result: an object in JSON, a line for each column that has a value in text. */
  record<T extends object>(item: T, columns: readonly Column<T>[]): Promise<void>;
  /** Prints pages of results as they come: one array in JSON, one table in text. Answers how many there were. */
  list<T extends object>(
    pages: Pages<T>,
    columns: readonly Column<T>[],
    options?: ListOptions,
  ): Promise<number>;
  /** Prints a piece of what is neither an object nor a table, as it is. */
  text(piece: string): Promise<void>;
  /** Says something that is no result. Silent with JSON, where standard error is kept for the error object. */
  note(text: string): void;
  /** Whether results are printed as JSON. */
  json(): boolean;
};

type Pages<T> = AsyncIterable<readonly T[]> | Iterable<readonly T[]>;
type Printer = {
  readonly stream: Writable;
  readonly progress: Pick<Progress, 'clear'>;
  readonly mayLeave: boolean;
};

/** @param progress What may stand on the terminal, to be cleared before anything is printed there. */
export function createOutput(
  { stdout: out, stderr }: { stdout: Writable; stderr: Writable },
  json: () => boolean,
  progress: Pick<Progress, 'clear'> = { clear: () => {} },
): Output {
  const stdout = { stream: out, progress, mayLeave: true };
  const whole = { ...stdout, mayLeave: false };
  const bold = (text: string) => styleText('bold', text, { stream: out }); // plain off a terminal and under NO_COLOR
  return {
    json,
    note: (text) => {
      progress.clear();
      if (!json()) stderr.write(`${printable(text)}\n`);
    },
    record: async (item, columns) => {
      if (json()) return write(whole, `${printableJson(item, 2)}\n`);
      const lines = recordLines(item, columns).map(({ title, value }) => `${bold(title)}  ${value}\n`);
      return write(whole, lines.join(''));
    },
    text: (piece) => write(stdout, piece),
    list: (pages, columns, { ofChange = false, within } = {}) => {
      const printer = ofChange ? whole : stdout;
      return json() ? jsonArray(printer, pages, within) : table(printer, pages, columns, bold);
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

/** Resolves once the system has it: only then may what follows rely on that. */
async function write({ stream, progress, mayLeave }: Printer, text: string): Promise<void> {
  progress.clear();
  await new Promise<void>((resolve, reject) => {
    stream.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
      if (error) reject(outputError(error, mayLeave));
      else resolve();
    });
  });
}
