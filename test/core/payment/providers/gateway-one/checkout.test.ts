// The checkout of gateway_one: which answers create it.
import { expect } from 'chai';
import { ProviderRefused, ProviderUnavailable } from '../../../../../core/payment/providers/driver.ts';
import { readCheckout } from '../../../../../core/payment/providers/gateway-one/checkout.ts';

describe('a checkout of gateway_one', () => {
  const answer = {
    status: 'SUCCESS',
    failedreason: '',
    sessionkey: 'SK1',
    GatewayPageURL: 'https://pay.example/c',
  };

  it('has a session key and an address', () => {
    expect(readCheckout(answer)).to.deep.equal({
      providerPaymentId: 'SK1',
      checkoutUrl: 'https://pay.example/c',
    });
  });

  it('is refused with a reason', () => {
    expect(() => readCheckout({ status: 'FAILED', failedreason: 'Invalid total_amount' })).to.throw(
      ProviderRefused,
      'the provider refused the checkout: Invalid total_amount',
    );
  });

  for (const changes of [
    { status: 'OK' },
    { status: '' },
    { sessionkey: '' },
    { GatewayPageURL: 'javascript:x' },
  ]) {
    it(`is refused with ${JSON.stringify(changes)}`, () => {
      expect(() => readCheckout({ ...answer, ...changes })).to.throw(ProviderUnavailable);
    });
  }
});
