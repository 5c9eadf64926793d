// Parses and formats the amounts of the simulated providers.
import { minorDigits } from '../../lib/presentation/money.ts';

/** `minor` counts the currency's minor unit. */
export type Amount = { readonly minor: bigint; readonly currency: string };

/**
 * Parses `100`, `100.5` or `100.50`. Undefined for other text, zero, or more decimals than the currency has.
 */
export function parseAmount(text: string, currency: string): Amount | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,13})(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  const digits = minorDigits(currency);
  if (whole === '' || fraction.length > digits || !/^[A-Z]{3}$/.test(currency)) return undefined;
  const minor = BigInt(whole + fraction.padEnd(digits, '0'));
  return minor > 0n ? { minor, currency } : undefined;
}

/** Formats all of the currency's decimals: `100.50`. */
export function formatAmount({ minor, currency }: Amount): string {
  const digits = minorDigits(currency);
  const text = minor.toString().padStart(digits + 1, '0');
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Formats without trailing zeros, as some provider answers do: `100.5` or `100`. */
export function shortAmount(amount: Amount): string {
  const text = formatAmount(amount);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** The merchant's share after a provider fee of 2.5 %. */
export function lessProviderFee({ minor, currency }: Amount): Amount {
  return { minor: (minor * 975n) / 1000n, currency };
}

/**
 * Takas for one unit of any other currency: an invented rate, so that converted amounts differ from requested
 * ones.
 */
const TAKA_RATE = 110n;

/** The amount in taka that such a provider records, with its rate as text. */
export function inTaka({ minor, currency }: Amount): { readonly amount: Amount; readonly rate: string } {
  if (currency === 'BDT') return { amount: { minor, currency }, rate: '1.0000' };
  const taka = (minor * TAKA_RATE * 100n) / 10n ** BigInt(minorDigits(currency));
  return { amount: { minor: taka, currency: 'BDT' }, rate: `${TAKA_RATE}.0000` };
}
