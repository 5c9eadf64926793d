// What an amount has to be to be charged.
import { HubError } from '../errors.ts';
import { checkedMoney, type Money, MoneyError, minorDigits } from './money.ts';

/** More than nothing, in a currency the hub knows. @throws HubError `amount_invalid` */
export function checkAmount({ minor, currency }: Money): void {
  blaming('amount.currency', () => minorDigits(currency));
  blaming('amount', () => checkedMoney(minor, currency));
  if (minor === 0n) {
    throw new HubError('amount_invalid', 'there has to be something to charge', { field: 'amount' });
  }
}

function blaming(field: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw new HubError('amount_invalid', error.message, { field });
  }
}
