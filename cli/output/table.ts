// Formats aligned columns without borders, page by page.
import { shortTime } from '../views/cells.ts';
import { TIME, type TypedSchema } from '../views/schema.ts';
import { printable } from './printable.ts';
import { textWidth } from './text-width.ts';

/** A column of a table, whose title is shown in capitals, or a line of a record. An undefined or empty cell is shown as `-`. */
export type Column<T> = {
  readonly title: string;
  readonly cell: (item: T) => string | number | undefined;
  /** Whether to align to the right, as for numbers. */
  readonly right?: boolean;
};

/** Members that are texts or numbers. */
export type PlainMember<T> = {
  [K in keyof T]-?: T[K] extends string | number | undefined ? K : never;
}[keyof T] &
  string;

/**
 * A column for each of these members. By default its title is the name in words: `Seat` for `seatId`, `Last seen` for
 * `lastSeenAt`. Pass an object to choose titles: `{ smtpResponse: 'Answer' }`. Times are shown in seconds, and numbers are aligned to the right.
 */
export function columnsOf<T>(
  { properties = {} }: TypedSchema<T>,
  ...members: readonly (PlainMember<T> | { readonly [member in PlainMember<T>]?: string })[]
): readonly Column<T>[] {
  const titled = members.flatMap((each) =>
    typeof each === 'object'
      ? (Object.entries(each) as [PlainMember<T>, string][])
      : [[each, titleOf(each)] as const],
  );
  return titled.map(([member, title]) => {
    const { type, pattern } = properties[member] ?? {};
    const text = (value: unknown) => (pattern === TIME ? shortTime(value as string | undefined) : value);
    return {
      title,
      cell: (item) => text(item[member]) as string | number | undefined, // it is a plain member
      right: type === 'integer' || type === 'number',
    };
  });
}

function titleOf(member: string): string {
  const words = member.replace(/(?<=.)(Id|At)$/, '').replace(/[A-Z]/g, (each) => ` ${each.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The columns with these titles, in their order. @throws Error if there is none with a title */
export function pick<T>(columns: readonly Column<T>[], ...titles: readonly string[]): readonly Column<T>[] {
  return titles.map((title) => {
    const found = columns.find((column) => column.title === title);
    if (found === undefined) throw new Error(`there is no column ${title}`);
    return found;
  });
}

/**
 * Formats rows as they arrive. Columns are as wide as the widest cell so far: a later page may be wider than
 * an earlier one, but earlier pages need not stay in memory.
 */
export function createTable<T>(columns: readonly Column<T>[]): {
  header(items: readonly T[]): string;
  rows(items: readonly T[]): string;
} {
  const widths = columns.map((column) => textWidth(column.title));
  const widen = (items: readonly T[]) => {
    const rows = items.map((item) => columns.map((column) => cellText(column.cell(item))));
    for (const row of rows) {
      row.forEach((cell, index) => {
        widths[index] = Math.max(widths[index] ?? 0, textWidth(cell));
      });
    }
    return rows;
  };
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.right ?? false))
      .join('  ')
      .trimEnd();
  return {
    header: (items) => {
      widen(items);
      return line(columns.map((column) => column.title.toUpperCase()));
    },
    rows: (items) =>
      widen(items)
        .map((row) => `${line(row)}\n`)
        .join(''),
  };
}

/** Formats one item: title and value of each column that has a value. */
export function recordLines<T>(item: T, columns: readonly Column<T>[]): { title: string; value: string }[] {
  const width = Math.max(...columns.map((column) => textWidth(column.title)));
  return columns
    .map((column) => ({ title: pad(column.title, width, false), value: cellText(column.cell(item)) }))
    .filter(({ value }) => value !== '-');
}

function cellText(value: string | number | undefined): string {
  return value === undefined || value === '' ? '-' : printable(String(value));
}

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)));
  return right ? space + text : text + space;
}
