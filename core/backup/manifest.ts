// The manifest of a backup: the hub that made it, when, and the tables, columns and sequences in it.
//
// Every value is checked, because names in it become parts of SQL statements.
import { show, UnreadableBackup } from './unreadable-backup.ts';

export const FORMAT = 2;

export type TableEntry = {
  readonly schema: string;
  readonly name: string;
  /** In the order of the fields of each row. */
  readonly columns: readonly string[];
  /** The months, `2026-01`, that the table has partitions of; empty if it is not partitioned by month. */
  readonly months: readonly string[];
};

export type SequenceEntry = {
  readonly schema: string;
  readonly name: string;
  /** The last value that the sequence returned, a 64-bit integer. */
  readonly lastValue: string;
};

export type Manifest = {
  /** The version of the format of the whole file. */
  readonly format: typeof FORMAT;
  readonly hubVersion: string;
  /** The time of the snapshot: RFC 3339 in UTC. */
  readonly createdAt: string;
  /** The version of the database server, such as `18.4`. */
  readonly postgresVersion: string;
  /** Names of the migrations that the database had, in order. */
  readonly migrations: readonly string[];
  /** Version of the job queue's own schema; undefined if the queue had no tables yet. */
  readonly jobSchemaVersion?: number;
  /** Ids of the master keys in the key ring. */
  readonly masterKeyIds: readonly string[];
  /** In the order to load them: each table after the tables that it references. */
  readonly tables: readonly TableEntry[];
  readonly sequences: readonly SequenceEntry[];
};

/**
 * The rows of each table, in the order of the manifest. In the last file, because rows are counted as they
 * are read.
 */
export type Totals = { readonly rows: readonly number[] };

/**
 * Names of schemas and tables become file names. Without dots and slashes, they cannot leave their directory.
 */
const FILE_SAFE = /^[\p{L}\p{M}\p{N}_$-]{1,63}$/u;
const COLUMN = /^[^\0]{1,63}$/;
const MONTH = /^2\d{3}-(0[1-9]|1[0-2])$/;
const INT64 = /^-?\d{1,19}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;
const VERSION = /^[ -~]{1,100}$/;
const MIGRATION = /^\w{1,200}$/;
const KEY_ID = /^[0-9a-f]{16}$/;

/** More than any hub has: 1600 is PostgreSQL's limit of columns, 600 months are fifty years. */
const MOST = { tables: 2_000, columns: 1_600, months: 600, others: 10_000 };

export function isFileSafe(name: string): boolean {
  return FILE_SAFE.test(name);
}

/** @throws UnreadableBackup that names the invalid member, or the unknown format */
export function readManifest(text: string): Manifest {
  const source = memberOf(parse(text, 'manifest.json'), 'the manifest');
  const format = source['format'];
  if (format !== FORMAT) {
    throw new UnreadableBackup(
      typeof format === 'number'
        ? `the backup has format ${show(format)}, and this hubctl reads format ${FORMAT}: restore ` +
            'it with the version that made it'
        : `manifest.json of the backup: format is ${show(format)}, not ${FORMAT}`,
    );
  }
  const jobSchemaVersion = source['jobSchemaVersion'];
  if (jobSchemaVersion !== undefined && !isCount(jobSchemaVersion))
    throw wrong('jobSchemaVersion', jobSchemaVersion);
  return {
    format: FORMAT,
    hubVersion: string(source['hubVersion'], 'hubVersion', VERSION),
    createdAt: string(source['createdAt'], 'createdAt', TIME),
    postgresVersion: string(source['postgresVersion'], 'postgresVersion', VERSION),
    migrations: some(source['migrations'], 'migrations', MIGRATION, MOST.others),
    ...(jobSchemaVersion !== undefined && { jobSchemaVersion }),
    masterKeyIds: some(source['masterKeyIds'], 'masterKeyIds', KEY_ID, MOST.others),
    tables: unique(list(source['tables'], 'tables', MOST.tables).map(tableOf), 'tables'),
    sequences: unique(list(source['sequences'], 'sequences', MOST.tables).map(sequenceOf), 'sequences'),
  };
}

/** @throws UnreadableBackup unless it has one count for each table */
export function readTotals(text: string, tables: readonly TableEntry[]): Totals {
  const rows = memberOf(parse(text, 'totals.json'), 'totals.json')['rows'];
  if (!Array.isArray(rows) || rows.length !== tables.length || !rows.every(isCount)) {
    throw new UnreadableBackup(
      `totals.json of the backup: rows is ${show(rows)}, not a count for each of ${tables.length} tables`,
    );
  }
  return { rows };
}

function tableOf(value: unknown, index: number): TableEntry {
  const where = `tables[${index}]`;
  const { schema, name, columns, months } = memberOf(value, where);
  return {
    schema: string(schema, `${where}.schema`, FILE_SAFE),
    name: string(name, `${where}.name`, FILE_SAFE),
    columns: some(columns, `${where}.columns`, COLUMN, MOST.columns),
    months: texts(months, `${where}.months`, MONTH, MOST.months),
  };
}

function sequenceOf(value: unknown, index: number): SequenceEntry {
  const where = `sequences[${index}]`;
  const { schema, name, lastValue } = memberOf(value, where);
  return {
    schema: string(schema, `${where}.schema`, COLUMN),
    name: string(name, `${where}.name`, COLUMN),
    lastValue: string(lastValue, `${where}.lastValue`, INT64),
  };
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the parser's message, which quotes the text.
    throw new UnreadableBackup(`${file} of the backup is not JSON`);
  }
}

function memberOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UnreadableBackup(`${where} of the backup is ${show(value)}, not an object`);
  }
  return { ...value };
}

function list(value: unknown, where: string, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(where, value);
  if (value.length <= most) return value;
  throw new UnreadableBackup(
    `manifest.json of the backup: ${where} has ${value.length} members, more than ${most}`,
  );
}

function texts(value: unknown, where: string, pattern: RegExp, most: number): readonly string[] {
  const found = list(value, where, most).map((each, index) => string(each, `${where}[${index}]`, pattern));
  if (new Set(found).size === found.length) return found;
  const twice = found.find((each, index) => found.indexOf(each) !== index);
  throw new UnreadableBackup(`manifest.json of the backup: ${where} has ${show(twice)} twice`);
}

function some(value: unknown, where: string, pattern: RegExp, most: number): readonly string[] {
  const found = texts(value, where, pattern, most);
  if (found.length === 0) throw wrong(where, value);
  return found;
}

function string(value: unknown, where: string, pattern: RegExp): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw wrong(where, value);
}

function unique<T extends { schema: string; name: string }>(
  entries: readonly T[],
  where: string,
): readonly T[] {
  const seen = new Set<string>();
  for (const { schema, name } of entries) {
    const key = `${schema}.${name}`;
    if (seen.has(key)) {
      throw new UnreadableBackup(`manifest.json of the backup: ${where} has ${show(key)} twice`);
    }
    seen.add(key);
  }
  return entries;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function wrong(where: string, value: unknown): UnreadableBackup {
  return new UnreadableBackup(
    `manifest.json of the backup: ${where} is ${show(value)}, which hubctl does not write`,
  );
}
