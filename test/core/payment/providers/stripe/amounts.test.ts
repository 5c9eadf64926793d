// Amounts of Stripe: what the hub sends and reads for each kind of currency.
import { expect } from 'chai';
import type { Money } from '../../../../../core/payment/money.ts';
import { ProviderRefused, ProviderUnavailable } from '../../../../../core/payment/providers/driver.ts';
import { fromStripeAmount, toStripeAmount } from '../../../../../core/payment/providers/stripe/amounts.ts';

const money = (minor: bigint, currency: string): Money => ({ minor, currency });

describe('an amount at Stripe', () => {
  it('counts the decimals that Stripe gives the currency, exactly', () => {
    const cases: readonly (readonly [Money, number])[] = [
      [money(10_050n, 'USD'), 10_050], // 100.50
      [money(500n, 'JPY'), 500], // 500
      [money(500n, 'ISK'), 50_000], // 500, which Stripe counts in hundredths
      [money(3_700n, 'UGX'), 370_000],
      [money(120_000n, 'MGA'), 1_200], // 1200.00, which Stripe counts without decimals
      [money(5_120n, 'KWD'), 5_120], // 5.120
      [money(9_007_199_254_740_991n, 'EUR'), Number.MAX_SAFE_INTEGER],
    ];
    for (const [hub, stripe] of cases) {
      expect(toStripeAmount(hub), hub.currency).to.equal(stripe);
      expect(fromStripeAmount(stripe, hub.currency.toLowerCase()), hub.currency).to.deep.equal(hub);
    }
  });

  it('is refused if Stripe cannot take it', () => {
    // 12.50 MGA, 5.125 KWD, and currencies whose decimals at Stripe nobody knows.
    for (const refused of [
      money(1_250n, 'MGA'),
      money(5_125n, 'KWD'),
      money(1n, 'CLF'),
      money(1_000n, 'IQD'),
    ]) {
      expect(() => toStripeAmount(refused), refused.currency).to.throw(ProviderRefused);
    }
  });

  it('is unreadable if it is no whole number of the currency', () => {
    const unreadable = [
      [370_050, 'ugx'],
      [1.5, 'usd'],
      [null, 'usd'],
      [100, 'nope'],
      [100, null],
      [-1, 'usd'],
    ] as const;
    for (const [amount, currency] of unreadable) {
      expect(() => fromStripeAmount(amount, currency), `${amount} ${currency}`).to.throw(ProviderUnavailable);
    }
  });
});
