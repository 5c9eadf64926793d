// The prices of an offer: one in each currency.
import type { Money as MoneyMessage } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { HubError, offerInvalid } from '../../errors.ts';
import type { Money } from '../../payment/money.ts';
import { checkAmount } from '../../payment/sessions/charge-amount.ts';

/** Minor units by currency, as decimal text. */
export type Prices = Readonly<Record<string, string>>;

/** @throws HubError `amount_invalid`, `offer_invalid` for a second price in a currency */
export function pricesFromProto(messages: readonly MoneyMessage[]): Prices {
  const prices = new Map<string, string>();
  for (const { minorUnits, currency } of messages) {
    checkAmount({ minor: minorUnits, currency }, 'terms.prices');
    if (prices.has(currency))
      throw offerInvalid('terms.prices', `there are two prices in ${currency}: give one`);
    prices.set(currency, String(minorUnits));
  }
  return Object.fromEntries([...prices].sort(([one], [other]) => (one < other ? -1 : 1)));
}

export function pricesToProto(prices: Prices) {
  return Object.entries(prices).map(([currency, minor]) => ({ minorUnits: BigInt(minor), currency }));
}

/**
 * The price of a quantity.
 *
 * @param currency empty if the offer has one price
 * @throws HubError `currency_not_offered`, `amount_invalid` if the amount is too large
 */
export function amountOf(prices: Prices, quantity: number, currency: string): Money {
  const currencies = Object.keys(prices);
  const chosen = currency === '' && currencies.length === 1 ? currencies[0] : currency;
  const minor = chosen === undefined ? undefined : prices[chosen];
  if (chosen === undefined || minor === undefined) {
    const problem =
      currency === ''
        ? 'the offer has prices in several currencies'
        : `the offer has no price in ${currency}`;
    const message = `${problem}: choose ${currencies.join(' or ')}`;
    throw new HubError('currency_not_offered', message, { field: 'currency' });
  }
  const amount = { minor: BigInt(minor) * BigInt(quantity), currency: chosen };
  checkAmount(amount);
  return amount;
}
