// Reads the lines of a provider's statement from a CSV file, one at a time.
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { parse } from 'csv-parse';
import { usageError } from '../errors/failure.ts';
import { CellError, plain } from '../import/fields.ts';
import { CSV_OPTIONS, type CsvRecord, delimiterOf, firstLine, toUsageError } from '../import/read-table.ts';
import { readAmount, readCurrency, readTime } from './read-cells.ts';
import {
  LINE_KINDS,
  type LineKind,
  STATEMENT_FIELDS,
  type StatementField,
  type StatementProfile,
} from './read-profile.ts';

/** A line that moves money. An id that the line does not have is empty. */
export type StatementLine = {
  readonly line: number;
  readonly kind: Exclude<LineKind, 'ignore'>;
  readonly id: string;
  readonly payment: string;
  readonly reference: string;
  /** Not negative: the kind says the direction. */
  readonly minor: bigint;
  readonly currency: string;
  /** Undefined if the line has no fee in its currency. */
  readonly feeMinor: bigint | undefined;
  /** Milliseconds since 1970. */
  readonly at: number | undefined;
};

export type StatementOptions = {
  readonly path: string;
  readonly profile: StatementProfile;
  /** Fields by column, before those of the profile; `-` ignores a column. */
  readonly mapped: Readonly<Record<string, string>>;
  /** Called for each line of the file that moves no money between customer and vendor. */
  readonly onIgnored: () => void;
  /** Called with the bytes that were read, and the size of the file. */
  readonly onRead: (bytes: number, size: number) => void;
};

/** Bounds the memory that a missing quote costs. */
const MAX_RECORD_BYTES = 128 * 1024;
/** A title may precede the header. */
const MAX_LINES_BEFORE_HEADER = 20;

/** @throws CliError (usage) that names the line and the column, and quotes no value but a kind */
export async function* readStatement(options: StatementOptions): AsyncGenerator<StatementLine> {
  const { path, onRead } = options;
  const { delimiter, size } = await inspect(path);
  const file = createReadStream(path);
  const parser = file.pipe(
    parse({ ...CSV_OPTIONS, bom: true, delimiter, max_record_size: MAX_RECORD_BYTES }),
  );
  file.on('error', (error) => parser.destroy(error));
  let columns: Columns | undefined;
  let before = 0;
  // The missing columns of the record with the most cells: it is the likely header.
  let lacks = { cells: 0, missing: missingOf([], options.profile) };
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      const line = firstLine({ record, info });
      if (columns !== undefined) {
        const read = readLine({ record, line, columns, options });
        if (read === undefined) options.onIgnored();
        else yield read;
      } else {
        const found = resolveColumns(record, options);
        before += 1;
        if (found.missing === undefined) columns = found.columns;
        else if (record.length > lacks.cells) lacks = { cells: record.length, missing: found.missing };
        if (columns === undefined && before === MAX_LINES_BEFORE_HEADER) throw noHeader(path, lacks.missing);
      }
      onRead(file.bytesRead, size);
    }
  } catch (error) {
    throw toUsageError(error, path);
  } finally {
    file.destroy();
  }
  if (columns === undefined) throw noHeader(path, lacks.missing);
}

function noHeader(path: string, missing: string): Error {
  return usageError(
    `${path} has no header with ${missing}. Choose another --profile, or add --map COLUMN=FIELD for each; ` +
      `the fields are ${STATEMENT_FIELDS.join(', ')}.`,
  );
}

const HEAD_BYTES = 64 * 1024;

/** The delimiter and the size. @throws CliError (usage) for a file that is not CSV text */
async function inspect(path: string): Promise<{ delimiter: string; size: number }> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    if (head.subarray(0, 2).toString('latin1') === 'PK') {
      throw usageError(`${path} is a spreadsheet or an archive. Export the statement as CSV.`);
    }
    if (head.includes(0)) throw usageError(`${path} is not text in UTF-8. Save it as CSV in UTF-8.`);
    return { delimiter: delimiterOf(head.toString('utf8'), MAX_LINES_BEFORE_HEADER), size };
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw usageError(`--statement: ${path} cannot be read (${'code' in error ? error.code : ''}).`);
  } finally {
    await file?.close();
  }
}

/** The place in the header, and the name, of the column of each field. */
type Columns = ReadonlyMap<StatementField, { readonly place: number; readonly name: string }>;

/** `missing` says which fields no column has. @throws CliError (usage) for a field that does not exist */
function resolveColumns(header: readonly string[], { profile, mapped }: StatementOptions) {
  const ignored = new Set<string>();
  const wanted: [column: string, field: StatementField][] = [];
  for (const [column, field] of Object.entries(mapped)) {
    const known = STATEMENT_FIELDS.find((each) => each === field);
    if (known !== undefined) wanted.push([column, known]);
    else if (field !== '-') throw usageError(`--map: there is no field ${field}. ${FIELDS}`);
    ignored.add(plain(column));
  }
  const ofProfile = Object.entries(profile.columns).filter(([column]) => !ignored.has(plain(column)));
  const columns = new Map<StatementField, { place: number; name: string }>();
  for (const [column, field] of [...wanted, ...ofProfile]) {
    const place = header.findIndex((name) => plain(name) === plain(column));
    if (place >= 0 && !columns.has(field)) columns.set(field, { place, name: header[place] ?? '' });
  }
  const unknown = Object.keys(mapped).find((column) => !header.some((name) => plain(name) === plain(column)));
  const missing = unknown === undefined ? missingOf([...columns.keys()], profile) : `the column "${unknown}"`;
  return missing === '' ? { columns, missing: undefined } : { columns, missing };
}

const FIELDS = `The fields are ${STATEMENT_FIELDS.join(', ')}.`;

/** Empty if the fields are enough. */
function missingOf(
  fields: readonly StatementField[],
  { needs = [], currency, columns }: StatementProfile,
): string {
  const has = (field: StatementField) => fields.includes(field);
  const missing: string[] = ['amount' as const, ...needs].filter((field) => !has(field));
  if (!['id', 'payment', 'reference'].some((field) => fields.includes(field as StatementField))) {
    missing.push('id, payment or reference');
  }
  if (currency === undefined && !has('currency')) missing.push('currency');
  return missing
    .map((field) => {
      const names = Object.keys(columns).filter((column) => columns[column] === field);
      return `a column for ${field}${names.length > 0 ? ` (${names.join(' or ')})` : ''}`;
    })
    .join(', and ');
}

type LineInput = {
  readonly record: readonly string[];
  readonly line: number;
  readonly columns: Columns;
  readonly options: StatementOptions;
};

/** Undefined for a line that moves no money between customer and vendor. */
function readLine({ record, line, columns, options }: LineInput): StatementLine | undefined {
  const { path, profile } = options;
  const cell = (field: StatementField): string => {
    const column = columns.get(field);
    return column === undefined ? '' : (record[column.place] ?? '').replace(/^'(?=[=+\-@])/, '');
  };
  const read = <T>(field: StatementField, reader: (text: string) => T): T => {
    try {
      return reader(cell(field));
    } catch (error) {
      if (!(error instanceof CellError)) throw error;
      throw usageError(`${path}, line ${line}, column "${columns.get(field)?.name}": ${error.message}.`);
    }
  };
  const status = cell('status').toLowerCase();
  if (columns.has('status') && profile.statuses && !profile.statuses.includes(status)) return undefined;
  const known = read('kind', (word) => (columns.has('kind') ? kindOf(word, profile) : undefined));
  if (known === 'ignore') return undefined;
  const currencyOf = (field: 'currency' | 'netCurrency', otherwise: string) =>
    cell(field) === '' ? otherwise : read(field, readCurrency);
  const currency = currencyOf('currency', currencyOf('netCurrency', profile.currency ?? ''));
  const amountIn = (field: 'amount' | 'fee' | 'net') =>
    read(field, (text) => readAmount(text, currency, profile.decimal ?? '.'));
  const signed = amountIn('amount');
  const kind = known ?? kindOfStatus(status) ?? (signed < 0n ? 'refund' : 'payment');
  const isNetComparable = cell('net') !== '' && currencyOf('netCurrency', currency) === currency;
  const fee = cell('fee') !== '' ? amountIn('fee') : isNetComparable ? signed - amountIn('net') : undefined;
  const { zone = '+00:00', dates } = profile;
  const found = {
    line,
    kind,
    id: cell('id'),
    payment: cell('payment'),
    reference: cell('reference').toUpperCase(),
    minor: signed < 0n ? -signed : signed,
    currency,
    feeMinor: fee,
    at: cell('time') === '' ? undefined : read('time', (text) => readTime(text, { zone, dates })),
  };
  if (found.id === '' && found.payment === '' && found.reference === '') {
    if (kind === 'fee') return undefined;
    throw usageError(`${path}, line ${line}: the line has no id of the provider or the hub.`);
  }
  return found;
}

/** The kind by the status, for statements without a column for the kind. */
function kindOfStatus(status: string): 'refund' | 'reversal' | undefined {
  if (status === 'refunded') return 'refund';
  return status === 'reversed' || status === 'chargeback' ? 'reversal' : undefined;
}

/** @throws CellError for an unknown kind, so that no money is left out */
function kindOf(word: string, { kinds = {} }: StatementProfile): LineKind {
  const lower = word.toLowerCase();
  const kind = Object.hasOwn(kinds, lower) ? kinds[lower] : LINE_KINDS.find((each) => each === lower);
  if (kind !== undefined) return kind;
  const remedy = `Add it to "kinds" of a profile of your own, as one of ${LINE_KINDS.join(', ')}`;
  throw new CellError(`${JSON.stringify(word.slice(0, 40))} is not a known kind of line. ${remedy}`);
}
