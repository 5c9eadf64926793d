// The checkout of gateway_two: which answers create it.
import { expect } from 'chai';
import { ProviderRefused, ProviderUnavailable } from '../../../../../core/payment/providers/driver.ts';
import { type Reply, readReply } from '../../../../../core/payment/providers/gateway-two/answers.ts';
import { readCheckout } from '../../../../../core/payment/providers/gateway-two/checkout.ts';

const reply = (body: unknown, status = 200): Reply => readReply(status, JSON.stringify(body));
const code = (statusCode: string): Reply => reply({ statusCode, statusMessage: 'Said so' });

describe('a checkout of gateway_two', () => {
  const created = {
    statusCode: '0000',
    paymentID: 'PAY-1',
    bkashURL: 'https://pay.example/c',
    transactionStatus: 'Initiated',
  };

  it('has a payment id and an address', () => {
    expect(readCheckout(reply(created))).to.deep.equal({
      providerPaymentId: 'PAY-1',
      checkoutUrl: 'https://pay.example/c',
    });
  });

  it('is refused with a reason', () => {
    expect(() => readCheckout(code('2001'))).to.throw(
      ProviderRefused,
      'the provider refused the checkout: 2001 Said so',
    );
    expect(() => readCheckout(reply({ message: 'Forbidden' }, 403))).to.throw(
      ProviderRefused,
      'HTTP 403 Forbidden',
    );
  });

  it('is unavailable with a transient code or an unknown message', () => {
    expect(() => readCheckout(code('2003'))).to.throw(ProviderUnavailable);
    expect(() => readCheckout(reply({ message: 'Internal server error' }))).to.throw(ProviderUnavailable);
  });

  it('is unavailable without payment id or address', () => {
    expect(() => readCheckout(reply({ ...created, paymentID: '' }))).to.throw(ProviderUnavailable);
    expect(() => readCheckout(reply({ ...created, bkashURL: 'javascript:x' }))).to.throw(ProviderUnavailable);
  });
});
