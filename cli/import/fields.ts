// The columns of an import, and how their cells become the fields of a license.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ImportedLicenseSchema } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { parseTime, timestampOf } from '../parse/parse-time.ts';

/** A license of the file, without its line. */
export type LicenseFields = Omit<MessageInitShape<typeof ImportedLicenseSchema>, '$typeName' | '$unknown'>;

/** A cell that is not as its column needs it. `message` has no value of the file. */
export class CellError extends Error {}

/** The fields that a cell sets; it is not empty, and `before` has what other columns set. @throws CellError */
type ReadCell = (cell: string, before: LicenseFields) => LicenseFields;

const DAY_END = '23:59:59.999';

export const FIELDS = {
  licenseKey: (cell) => ({ licenseKey: cell }),
  seats: (cell) => ({ seatLimit: seatsOf(cell) }),
  profile: (cell) => ({ limitProfile: cell }),
  limits: (cell, { limits }) => ({
    limits: {
      ...limits,
      ...Object.fromEntries(pairsOf(cell).map(([name, value]) => [name, limitOf(value)])),
    },
  }),
  features: (cell, { features = [] }) => ({
    features: [...new Set([...features, ...cell.split(/[\s,;|]+/).filter((name) => name !== '')])],
  }),
  expiresAt: (cell) => ({ expiresAt: timeOf(cell, DAY_END) }),
  graceDays: (cell) => ({ graceDays: wholeNumber(cell) }),
  leaseDays: (cell) => ({ leaseDays: cell === 'none' ? 0 : wholeNumber(cell) }),
  customer: (cell) => ({ customer: cell }),
  email: (cell) => ({ customerEmail: cell }),
  customerRef: (cell) => ({ customerRef: cell }),
  createdAt: (cell) => ({ createdAt: timeOf(cell, '00:00:00') }),
  revoked: (cell, { revoked }) => ({ revoked: booleanOf(cell) || revoked === true }),
} as const satisfies Record<string, ReadCell>;

export type FieldName = keyof typeof FIELDS;

export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[]; // its own keys

/** The field of a column name, in any case; also `metadata.NAME` and `limits.NAME`. */
export function fieldFor(column: string): ReadCell | undefined {
  const [, group = '', name = ''] = /^(metadata|limits)\.(.+)$/i.exec(column) ?? [];
  if (group.toLowerCase() === 'metadata') {
    return (cell, { metadata }) => ({ metadata: { ...metadata, [name]: cell } });
  }
  if (group.toLowerCase() === 'limits') {
    return (cell, { limits }) => ({ limits: { ...limits, [name]: limitOf(cell) } });
  }
  const wanted = ALIASES[plain(column)] ?? FIELD_NAMES.find((field) => plain(field) === plain(column));
  return wanted && FIELDS[wanted];
}

/** The names of the hub's own key files. */
const ALIASES: Readonly<Record<string, FieldName>> = { limitprofile: 'profile' };

export function plain(column: string): string {
  return column.toLowerCase().replace(/[\s_-]/g, '');
}

/** The column that sets a field of the contract. */
export function columnOf(field: string): string {
  return CONTRACT_NAMES[field] ?? field;
}

const CONTRACT_NAMES: Readonly<Record<string, FieldName>> = {
  seatLimit: 'seats',
  limitProfile: 'profile',
  customerEmail: 'email',
};

function limitOf(cell: string): bigint {
  if (cell === 'unlimited') return -1n;
  if (/^-?\d{1,18}$/.test(cell)) return BigInt(cell);
  throw new CellError('must be a whole number or unlimited');
}

function pairsOf(cell: string): [string, string][] {
  return cell
    .split(/[\s,;|]+/)
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value, ...more] = pair.split('=');
      if (name && value && more.length === 0) return [name, value];
      throw new CellError('must be name=value, several separated by spaces');
    });
}

function seatsOf(cell: string): number {
  if (cell === 'unlimited' || cell === '-1') return -1;
  const seats = wholeNumber(cell);
  if (seats >= 1) return seats;
  throw new CellError('must be a whole number from 1, or unlimited');
}

function wholeNumber(cell: string): number {
  if (/^\d{1,9}$/.test(cell)) return Number(cell);
  throw new CellError('must be a whole number');
}

const YES = ['true', 'yes', '1', 'revoked'];
const NO = ['false', 'no', '0', 'active'];

function booleanOf(cell: string): boolean {
  const word = cell.toLowerCase();
  if (YES.includes(word)) return true;
  if (NO.includes(word)) return false;
  throw new CellError('must be true or false');
}

/** A time without a zone is in UTC. Nine or ten digits are seconds since 1970. */
function timeOf(cell: string, timeOfDay: string): ReturnType<typeof timestampOf> {
  if (/^\d{9,10}$/.test(cell)) return { seconds: BigInt(cell), nanos: 0 };
  const [, day, clock = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?) ?(Z|UTC|[+-]\d\d:\d\d)?)?$/i.exec(cell) ?? [];
  const text = clock === '' ? day : `${day}T${clock}${zone.toUpperCase().replace('UTC', 'Z')}`;
  const time = text === undefined ? undefined : parseTime(text, timeOfDay);
  if (time !== undefined) return timestampOf(time);
  throw new CellError('must be a date (2026-12-31) or an RFC 3339 time (2026-12-31T12:00:00Z)');
}
