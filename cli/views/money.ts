// Amounts of money as hubctl prints them.
import { formatDecimal } from '../decimal.ts';
import { part } from '../reply.ts';

/** `amount` is the decimal, `minorUnits` the same as a whole number: 10000 is 100.00 BDT. */
export type MoneyView = { readonly amount: string; readonly minorUnits: number; readonly currency: string };

/** Amounts are below 2^53 by the contract, so a JSON number holds them exactly. */
export function moneyView(
  money: { readonly minorUnits: bigint; readonly currency: string } | undefined,
): MoneyView {
  const { minorUnits, currency } = part(money, 'amount');
  return { amount: formatDecimal(minorUnits, currency), minorUnits: Number(minorUnits), currency };
}

/** `100.00 BDT` */
export function moneyText({ amount, currency }: MoneyView): string {
  return `${amount} ${currency}`;
}
