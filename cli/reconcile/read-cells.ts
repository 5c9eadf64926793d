// Reads the cells of a statement: amounts, currencies and times.
import { messageOf } from '../../lib/caught-error.ts';
import { parseDecimal } from '../../lib/presentation/parse-decimal.ts';
import { CellError } from '../import/fields.ts';
import { parseTime } from '../parse/parse-time.ts';

/**
 * Reads `1,250.00`, `-1250` or `+1250.5` into minor units, exactly.
 *
 * @param decimal The decimal sign; the other one of point and comma separates thousands.
 * @throws CellError
 */
export function readAmount(cell: string, currency: string, decimal: '.' | ','): bigint {
  const [, sign, digits = ''] = /^([+-]?) ?([\d.,]+)$/.exec(cell) ?? [];
  const groups = decimal === '.' ? /^\d{1,3}(,\d{3})+(\.\d+)?$/ : /^\d{1,3}(\.\d{3})+(,\d+)?$/;
  const separator = decimal === '.' ? ',' : '.';
  const plain = groups.test(digits) ? digits.replaceAll(separator, '') : digits;
  if (sign === undefined || plain.includes(separator)) {
    throw new CellError(`must be an amount such as ${decimal === '.' ? '1250.00' : '1250,00'}`);
  }
  try {
    const minor = parseDecimal(plain.replace(',', '.'), currency);
    return sign === '-' ? -minor : minor;
  } catch (error) {
    throw new CellError(`must be an amount. ${messageOf(error)}`);
  }
}

/** @throws CellError */
export function readCurrency(cell: string): string {
  const currency = cell.toUpperCase();
  if (/^[A-Z]{3}$/.test(currency)) return currency;
  throw new CellError('must be an ISO 4217 code such as BDT');
}

type TimeFormat = { readonly zone: string; readonly dates: 'dmy' | 'mdy' | undefined };

// 2026-11-21 12:00:00, 2026-11-21T12:00:00:000 GMT+0600, 21/11/2026 12:00
const TIME =
  /^(\d{4}-\d\d-\d\d|\d\d?[/.-]\d\d?[/.-]\d{4})(?:[T ]+(\d\d?):(\d\d)(?::(\d\d))?(?:[.:]\d{1,9})?(?: ?([AP]M))?(?: ?(Z|UTC|(?:GMT)?[+-]\d\d:?\d\d))?)?$/i;

/** Reads a time to the second, in milliseconds since 1970. @throws CellError */
export function readTime(cell: string, { zone, dates }: TimeFormat): number {
  const [, day = '', hour = '0', minute = '00', second = '00', half, offset] = TIME.exec(cell) ?? [];
  const date = isoDate(day, dates);
  const clock = `${hourOf(hour, half)}:${minute}:${second}`;
  const time = date === undefined ? undefined : parseTime(`${date}T${clock}${zoneOf(offset, zone)}`, '');
  if (time !== undefined) return time.getTime();
  const slashes = dates === undefined && /^\d\d?[/.-]/.test(day);
  const remedy = slashes ? ', or the profile must say the order of its dates: "dates": "dmy" or "mdy"' : '';
  throw new CellError(`must be a time such as 2026-11-21 12:00:00${remedy}`);
}

function isoDate(day: string, dates: TimeFormat['dates']): string | undefined {
  if (/^\d{4}/.test(day)) return day;
  const [one = '', two = '', year = ''] = day.split(/[/.-]/).map((part) => part.padStart(2, '0'));
  if (dates === undefined || year === '') return undefined;
  return dates === 'dmy' ? `${year}-${two}-${one}` : `${year}-${one}-${two}`;
}

function hourOf(hour: string, half: string | undefined): string {
  const number = Number(hour);
  const of24 = half === undefined ? number : (number % 12) + (half.toUpperCase() === 'PM' ? 12 : 0);
  return String(of24).padStart(2, '0');
}

function zoneOf(offset: string | undefined, zone: string): string {
  if (offset === undefined) return zone;
  if (/^(Z|UTC)$/i.test(offset)) return 'Z';
  const [, hours, minutes] = /([+-]\d\d):?(\d\d)$/.exec(offset) ?? [];
  return `${hours}:${minutes}`;
}
