// Amounts of money as they are typed: exact decimals of a currency's minor units.
import { formatDecimal, minorDigits } from '../story/money.ts';

/** The most the hub takes: what bigint columns and JSON numbers both hold. */
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);
const LONGEST = String(LARGEST).length;

/**
 * Reads a decimal such as `100`, `100.5` or `100.50`. Whether there is such a currency is the hub's to say.
 *
 * @throws Error that says what is wrong: no decimal, more decimals than the currency has, or too large.
 */
export function parseDecimal(decimal: string, currency: string): bigint {
  const digits = minorDigits(currency);
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === undefined) throw new Error('Give a decimal amount such as 100.00.');
  if (/^0\d/.test(whole)) throw new Error('Leave out the zeros in front.');
  const tooLarge = () =>
    new Error(`The amount is too large: the most is ${formatDecimal(LARGEST, currency)}.`);
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
