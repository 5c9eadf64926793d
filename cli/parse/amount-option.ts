// Parses amounts from options once the currency is known.

import { messageOf } from '../../lib/caught-error.ts';
import { parseDecimal } from '../../lib/presentation/parse-decimal.ts';
import { usageError } from '../errors/failure.ts';

/** @throws CliError (usage) that names the option */
export function parseAmountOption(option: string, decimal: string, currency: string): bigint {
  const upper = currency.toUpperCase();
  if (/^[A-Z]{3}$/.test(upper) && currency !== upper) throw usageError(`--currency: Write ${upper}.`);
  try {
    return parseDecimal(decimal, currency);
  } catch (error) {
    throw usageError(`${option}: ${messageOf(error)}`);
  }
}

/** Builds Money for a request. @throws CliError (usage) */
export function parseMoneyOption(amount: string, currency: string): { minorUnits: bigint; currency: string } {
  return { minorUnits: parseAmountOption('--amount', amount, currency), currency };
}
