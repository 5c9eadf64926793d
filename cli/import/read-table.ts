// Reads the licenses of a file as a table: CSV with a header, or JSON.
import { CsvError, parse } from 'csv-parse/sync';
import { isObject } from '../../lib/json-object.ts';
import { usageError } from '../errors/failure.ts';

/** The cells of one license, by place in the header. */
export type TableRow = { readonly line: number; readonly cells: readonly string[] };

export type Table = { readonly header: readonly string[]; readonly rows: readonly TableRow[] };

/**
 * Reads CSV with commas, semicolons or tabs (RFC 4180; a byte order mark and any line ends are allowed), or JSON: an
 * array of objects, or an object with one such array. The columns of JSON are the paths of its members, such as
 * `customer.email`; its lines are the places in the array.
 *
 * @throws CliError (usage) that names the line and never quotes a value
 */
export function readTable(text: string, from: string): Table {
  const content = text.replace(/^\uFEFF/, '');
  return /^\s*[[{]/.test(content) ? readJson(content, from) : readCsv(content, from);
}

/** With `info`, each record comes with the number of its last line. */
export const CSV_OPTIONS = { info: true, relax_column_count: true, skip_empty_lines: true, trim: true };

export type CsvRecord = { readonly record: string[]; readonly info: { readonly lines: number } };

function readCsv(text: string, from: string): Table {
  let parsed: CsvRecord[];
  try {
    parsed = parse(text, { ...CSV_OPTIONS, delimiter: delimiterOf(text) }) as unknown as CsvRecord[];
  } catch (error) {
    throw toUsageError(error, from);
  }
  const [first, ...records] = parsed;
  if (first === undefined) throw usageError(`${from} is empty. Its first line must name the columns.`);
  const rows = records.map(({ record, info }) => {
    const line = firstLine({ record, info });
    if (
      record.length > first.record.length &&
      record.slice(first.record.length).some((cell) => cell !== '')
    ) {
      throw usageError(`${from}, line ${line}: this line has more cells than the header. Check the quotes.`);
    }
    return { line, cells: record };
  });
  return { header: first.record, rows };
}

export function firstLine({ record, info }: CsvRecord): number {
  return info.lines - record.join('').split('\n').length + 1;
}

/** For an error of the parser, one that names the line and quotes no value. */
export function toUsageError(error: unknown, from: string): unknown {
  if (!(error instanceof CsvError)) return error;
  const line = 'lines' in error && typeof error['lines'] === 'number' ? `, line ${error['lines']}` : '';
  return usageError(`${from}${line}: this is not CSV (${error.code}). Check the quotes.`);
}

/** The candidate that the first lines have most of, outside of quotes. */
export function delimiterOf(text: string, lines = 1): string {
  const first = text.trimStart().split(/\r\n|\r|\n/, lines);
  const bare = first.join('\n').replace(/"[^"]*"/g, '');
  const counts = [',', ';', '\t'].map((mark) => ({ mark, count: bare.split(mark).length }));
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).mark;
}

function readJson(text: string, from: string): Table {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usageError(`${from} is not JSON, although it begins like JSON.`);
  }
  const items = Array.isArray(value) ? value : arrayIn(value);
  if (items === undefined) throw usageError(`${from} has no array of licenses.`);
  const flat = items.map((item, index) => {
    if (isObject(item)) return flatten(item);
    throw usageError(`${from}: item ${index + 1} is not an object.`);
  });
  const header = [...new Set(flat.flatMap((cells) => [...cells.keys()]))];
  const rows = flat.map((cells, index) => ({
    line: index + 1,
    cells: header.map((name) => cells.get(name) ?? ''),
  }));
  return { header, rows };
}

function arrayIn(value: unknown): unknown[] | undefined {
  return isObject(value) ? Object.values(value).find((member) => Array.isArray(member)) : undefined;
}

/** The texts, numbers and booleans of an object by path. Lists of them are joined by commas. */
function flatten(value: Record<string, unknown>, prefix = ''): Map<string, string> {
  const cells = new Map<string, string>();
  for (const [name, member] of Object.entries(value)) {
    const path = prefix + name;
    if (isObject(member)) for (const [inner, cell] of flatten(member, `${path}.`)) cells.set(inner, cell);
    else if (!Array.isArray(member)) cells.set(path, member === null ? '' : String(member));
    else if (member.every((item) => typeof item !== 'object')) cells.set(path, member.join(','));
  }
  return cells;
}
