// Money: exact amounts in minor units, and their decimal form.
import { MINOR_DIGITS } from '../../lib/presentation/money.ts';

/** `minor` counts the currency's minor unit; `currency` is an ISO 4217 code. */
export type Money = { readonly minor: bigint; readonly currency: string };

/**
 * Invalid text, or an amount that its currency cannot hold. The message is meant for the author of the text.
 */
export class MoneyError extends Error {
  override readonly name = 'MoneyError';
}

const CURRENCIES: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf('currency'),
  ...MINOR_DIGITS.keys(),
]);

// JSON numbers are exact up to here.
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

/** The number of decimals. @throws MoneyError for a code that is not a currency */
export function minorDigits(currency: string): number {
  if (!CURRENCIES.has(currency)) {
    const upper = currency.toUpperCase();
    const hint = CURRENCIES.has(upper) ? `: write ${upper}` : '';
    throw new MoneyError(`${JSON.stringify(currency)} is not an ISO 4217 currency code${hint}`);
  }
  return MINOR_DIGITS.get(currency) ?? 2;
}

/**
 * Reads a decimal such as `100`, `100.5` or `100.50`: no sign, exponent, spaces or separators. Digits beyond
 * the currency's decimals must be zeros, because providers write `100.0000` too.
 *
 * @throws MoneyError
 */
export function parseMoney(decimal: string, currency: string): Money {
  const digits = minorDigits(currency);
  const [, whole = '', fraction = ''] = /^(\d{1,16})(?:\.(\d{1,16}))?$/.exec(decimal) ?? [];
  if (whole === '') throw new MoneyError(`${JSON.stringify(decimal)} is not a decimal amount such as 100.00`);
  if (/[1-9]/.test(fraction.slice(digits))) {
    throw new MoneyError(`${decimal} has more decimals than ${currency} has (${digits})`);
  }
  return checkedMoney(BigInt(whole + fraction.slice(0, digits).padEnd(digits, '0')), currency);
}

/** @throws MoneyError for a negative amount, one beyond 2^53-1 minor units, or an unknown currency */
export function checkedMoney(minor: bigint, currency: string): Money {
  minorDigits(currency);
  if (minor < 0n || minor > LARGEST)
    throw new MoneyError(`an amount must be between 0 and ${LARGEST} minor units`);
  return { minor, currency };
}

/** `100.50`, with all decimals of the currency. */
export function formatDecimal({ minor, currency }: Money): string {
  const digits = minorDigits(currency);
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0');
  const sign = minor < 0n ? '-' : '';
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `100.50 BDT` */
export function formatMoney(money: Money): string {
  return `${formatDecimal(money)} ${money.currency}`;
}

export function sameMoney(one: Money, other: Money): boolean {
  return one.minor === other.minor && one.currency === other.currency;
}
