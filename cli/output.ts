// Where results go: standard output, as aligned text or as JSON. Notes go to standard error.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { printable, printableJson } from './printable.ts';
import type { Progress } from './progress.ts';
import { type Column, createTable, recordLines } from './table.ts';

export type Output = {
  /** Prints one result: an object in JSON, a line for each column that has a value in text. */
  record<T extends object>(item: T, columns: readonly Column<T>[]): Promise<void>;
  /** Prints pages of results as they come: one array in JSON, one table in text. Answers how many there were. */
  list<T extends object>(
    pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
    columns: readonly Column<T>[],
  ): Promise<number>;
  /** Prints a piece of what is neither an object nor a table, as it is. */
  text(piece: string): Promise<void>;
  /** Says something that is no result. Silent with JSON, where standard error is kept for the error object. */
  note(text: string): void;
  /** Whether results are printed as JSON. */
  json(): boolean;
};

type Printer = { readonly stream: Writable; readonly progress: Pick<Progress, 'clear'> };

/** @param progress What may stand on the terminal, to be cleared before anything is printed there. */
export function createOutput(
  { stdout: out, stderr }: { stdout: Writable; stderr: Writable },
  json: () => boolean,
  progress: Pick<Progress, 'clear'> = { clear: () => {} },
): Output {
  const stdout = { stream: out, progress };
  const bold = (text: string) => styleText('bold', text, { stream: out }); // plain off a terminal and under NO_COLOR
  return {
    json,
    note: (text) => {
      progress.clear();
      if (!json()) stderr.write(`${printable(text)}\n`);
    },
    record: async (item, columns) => {
      if (json()) return write(stdout, `${printableJson(item, 2)}\n`);
      const lines = recordLines(item, columns).map(({ title, value }) => `${bold(title)}  ${value}\n`);
      return write(stdout, lines.join(''));
    },
    text: (piece) => write(stdout, piece),
    list: (pages, columns) => (json() ? jsonArray(stdout, pages) : table(stdout, pages, columns, bold)),
  };
}

async function jsonArray<T>(stdout: Printer, pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>) {
  let count = 0;
  for await (const items of pages) {
    const lines = items.map((item, index) => `${count + index === 0 ? '[' : ','}\n  ${printableJson(item)}`);
    await write(stdout, lines.join(''));
    count += items.length;
  }
  await write(stdout, count === 0 ? '[]\n' : '\n]\n');
  return count;
}

async function table<T>(
  stdout: Printer,
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
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

async function write({ stream, progress }: Printer, text: string): Promise<void> {
  progress.clear();
  if (!stream.write(text)) await once(stream, 'drain');
}
