// Checks the amount of a charge.
import { HubError } from '../../errors.ts';
import { checkedMoney, type Money, MoneyError, minorDigits } from '../money.ts';

/** The amount has to be positive and in a known currency. @throws HubError `amount_invalid` */
export function checkAmount({ minor, currency }: Money, field = 'amount'): void {
  checkField(`${field}.currency`, () => minorDigits(currency));
  checkField(field, () => checkedMoney(minor, currency));
  if (minor === 0n) {
    throw new HubError('amount_invalid', 'the amount must not be zero', { field });
  }
}

function checkField(field: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw new HubError('amount_invalid', error.message, { field });
  }
}
