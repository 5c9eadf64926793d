// Parses decimal amounts of money into a currency's minor units.
import { formatDecimal, minorDigits } from './money.ts';

/** The hub's maximum: both bigint columns and JSON numbers hold it exactly. */
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);
const LONGEST = String(LARGEST).length;

/**
 * Parses a decimal such as `100`, `100.5` or `100.50`. The hub checks the currency.
 * @throws Error if the text is no decimal, has more decimals than the currency, or is too large.
 */
export function parseDecimal(decimal: string, currency: string): bigint {
  const digits = minorDigits(currency);
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === undefined) throw new Error('Give a decimal amount such as 100.00.');
  if (/^0\d/.test(whole)) throw new Error('Omit leading zeros.');
  const tooLarge = () =>
    new Error(`The amount is too large: the maximum is ${formatDecimal(LARGEST, currency)}.`);
  if (whole.length > LONGEST) throw tooLarge();
  if (/[1-9]/.test(fraction.slice(digits))) {
    throw new Error(
      `${currency} has ${digits === 0 ? 'no' : `only ${digits}`} digits after the decimal point.`,
    );
  }
  const minorUnits = BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0'));
  if (minorUnits > LARGEST) throw tooLarge();
  return minorUnits;
}

/**
 * Parses a decimal that may have commas between its thousands, such as `1,000.00`.
 * @throws Error as `parseDecimal`, and if a comma may be the decimal sign
 */
export function parseGroupedDecimal(decimal: string, currency: string): bigint {
  if (!decimal.includes(',')) return parseDecimal(decimal, currency);
  const isGrouped = /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(decimal);
  // In a currency with three digits after the decimal sign, `9,500` can be 9.500.
  const isUnclear = minorDigits(currency) >= 3 && !decimal.includes('.');
  if (isGrouped && !isUnclear) return parseDecimal(decimal.replaceAll(',', ''), currency);
  const example = formatDecimal(1000n * 10n ** BigInt(minorDigits(currency)), currency);
  throw new Error(`The decimal sign is a point: give an amount such as ${example}, without commas.`);
}
