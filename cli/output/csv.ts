// Formats CSV records (RFC 4180) that spreadsheets do not evaluate as formulas.

import type { Lines } from './export-to-file.ts';
import type { PlainMember } from './table.ts';

/** The cells of an item, by the names of the header. */
export type CsvColumns<T> = Readonly<Record<string, (item: T) => string>>;

/** A column for each of these members; a missing one is empty. */
export function csv<T>(...names: readonly PlainMember<T>[]): CsvColumns<T> {
  return Object.fromEntries(names.map((name) => [name, (item: T) => String(item[name] ?? '')]));
}

export function csvLines<T>(columns: CsvColumns<T>): Lines<T> {
  const cells = Object.values(columns);
  return { header: csvLine(Object.keys(columns)), line: (item) => csvLine(cells.map((cell) => cell(item))) };
}

/** Formats one record with its line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Quotes a cell where RFC 4180 requires it. Prefixes a cell that a spreadsheet would evaluate as a formula
 * (it begins with `=`, `+`, `-`, `@`, a tab or a carriage return) with an apostrophe, which spreadsheets read
 * as "text". Negative numbers stay numbers, so that amounts can be summed.
 */
function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
