// Parses the price of an offer: `BDT=100.00`.
import { InvalidArgumentError } from 'commander';
import { messageOf } from '../../lib/caught-error.ts';
import { parseDecimal } from '../../lib/presentation/parse-decimal.ts';

/**
 * Adds a price to those given so far, by currency in minor units.
 * @throws InvalidArgumentError if the text is no price, or the currency was given before
 */
export function parsePrice(text: string, before: Record<string, bigint> = {}): Record<string, bigint> {
  const [, currency, decimal] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (currency === undefined || decimal === undefined || currency === '')
    throw new InvalidArgumentError('Give a currency and an amount, such as USD=9.00.');
  requireCurrency(currency);
  if (Object.hasOwn(before, currency))
    throw new InvalidArgumentError(`The price in ${currency} is given twice.`);
  try {
    return { ...before, [currency]: parseDecimal(decimal, currency) };
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

/** Adds a currency to those given so far. @throws InvalidArgumentError if the text is no currency */
export function parseCurrencies(text: string, before: readonly string[] = []): readonly string[] {
  requireCurrency(text);
  return [...before, text];
}

/** The hub knows which currencies exist. @throws InvalidArgumentError */
function requireCurrency(text: string): void {
  if (/^[A-Z]{3}$/.test(text)) return;
  const upper = text.toUpperCase();
  throw new InvalidArgumentError(
    /^[A-Z]{3}$/.test(upper) ? `Write ${upper}.` : 'Write the ISO 4217 code of a currency, such as USD.',
  );
}
