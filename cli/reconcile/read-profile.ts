// Profiles, which describe the columns of providers' statements. Reads a profile from a JSON file.
import { readFile } from 'node:fs/promises';
import { isObject } from '../../lib/json-object.ts';
import { usageError } from '../errors/failure.ts';

/**
 * What a column holds. `id`: the provider's id of the line; `payment`: its id of the payment that the line belongs to;
 * `reference`: the transaction id that the hub gave the provider; `net`: the amount less the fee.
 */
export const STATEMENT_FIELDS = [
  'id',
  'payment',
  'reference',
  'amount',
  'currency',
  'fee',
  'net',
  'netCurrency',
  'kind',
  'status',
  'time',
] as const;
export type StatementField = (typeof STATEMENT_FIELDS)[number];

/**
 * `refund` and `reversal` take money back. `returned` returns the money that a line with the same id took. `fee` belongs
 * to a payment.
 */
export const LINE_KINDS = ['payment', 'refund', 'reversal', 'returned', 'fee', 'ignore'] as const;
export type LineKind = (typeof LINE_KINDS)[number];

export type StatementProfile = {
  readonly title: string;
  /** Compares only entries of this gateway. */
  readonly gateway?: string;
  /** The field of each column. Case and spaces of the name do not matter. If several columns have a field, the first counts. */
  readonly columns: Readonly<Record<string, StatementField>>;
  /** Fields that a statement must have, besides an amount and an id. */
  readonly needs?: readonly StatementField[];
  /** The currency of lines without one. */
  readonly currency?: string;
  /** The offset of times without one: `+06:00`. */
  readonly zone?: string;
  /** The order of dates such as 31/12/2026. Default: none are allowed. */
  readonly dates?: 'dmy' | 'mdy';
  /** The decimal sign; the other one separates thousands. */
  readonly decimal?: '.' | ',';
  /** The kind of a line by the cell of its column, in lower case. Without the column, the sign decides. */
  readonly kinds?: Readonly<Record<string, LineKind>>;
  /** Statuses of lines to compare, in lower case. Lines with other statuses are ignored. */
  readonly statuses?: readonly string[];
};

/** @throws CliError (usage) unless the file is a profile */
export async function readProfile(path: string): Promise<StatementProfile> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'not JSON';
    throw usageError(`--profile: ${path} cannot be read (${code}). Give a profile's name or a JSON file.`);
  }
  if (!isObject(value)) throw usageError(`--profile: ${path} is not a JSON object.`);
  const wrong = (member: string, what: string) =>
    usageError(`--profile: ${path}: ${member} must be ${what}.`);
  const checks: Readonly<Record<string, [(member: unknown) => boolean, string]>> = {
    title: [isText, 'a text'],
    gateway: [isText, 'a text'],
    columns: [
      isRecordOf(STATEMENT_FIELDS),
      `an object from columns to fields: ${STATEMENT_FIELDS.join(', ')}`,
    ],
    needs: [isListOf(STATEMENT_FIELDS), `a list of fields: ${STATEMENT_FIELDS.join(', ')}`],
    currency: [matches(/^[A-Z]{3}$/), 'an ISO 4217 code'],
    zone: [matches(ZONE), 'an offset such as +06:00'],
    dates: [(member) => member === 'dmy' || member === 'mdy', 'dmy or mdy'],
    decimal: [(member) => member === '.' || member === ',', 'a point or a comma'],
    kinds: [isRecordOf(LINE_KINDS), `an object from words to kinds: ${LINE_KINDS.join(', ')}`],
    statuses: [(member) => Array.isArray(member) && member.every(isText), 'a list of texts'],
  };
  for (const [member, content] of Object.entries(value)) {
    const check = checks[member];
    if (check === undefined) throw wrong(member, `left out: a profile has ${Object.keys(checks).join(', ')}`);
    if (!check[0](content)) throw wrong(member, check[1]);
  }
  const { kinds, statuses, columns, ...rest } = value as Partial<StatementProfile>; // checked above
  if (columns === undefined) throw wrong('columns', checks['columns']?.[1] ?? '');
  const lower = (text: string) => text.toLowerCase();
  return {
    title: path,
    ...rest,
    columns,
    ...(kinds && {
      kinds: Object.fromEntries(Object.entries(kinds).map(([word, kind]) => [lower(word), kind])),
    }),
    ...(statuses && { statuses: statuses.map(lower) }),
  };
}

/** An offset from UTC. */
export const ZONE = /^[+-](0\d|1[0-4]):[0-5]\d$/;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function matches(pattern: RegExp) {
  return (value: unknown): boolean => typeof value === 'string' && pattern.test(value);
}

function isListOf(words: readonly string[]) {
  return (value: unknown): boolean => Array.isArray(value) && value.every((each) => words.includes(each));
}

function isRecordOf(words: readonly string[]) {
  return (value: unknown): boolean => isObject(value) && isListOf(words)(Object.values(value));
}
