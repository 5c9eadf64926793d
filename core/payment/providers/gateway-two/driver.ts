// gateway_two: a tokenised wallet checkout, where money moves when the hub executes what the customer
// authorized.
import { type CallbackClaim, type CallbackFields, CallbackMalformed, type PaymentDriver } from '../driver.ts';
import { redactSecrets } from '../driver-calls.ts';
import { renewToken } from './calls.ts';
import { createCheckout } from './checkout.ts';
import { findPayments } from './find-payments.ts';
import { refunds, rootUrl } from './refunds.ts';
import { verify } from './verify-payment.ts';

const OUTCOMES: ReadonlyMap<string, CallbackClaim['outcome']> = new Map([
  ['', 'unknown'],
  ['success', 'paid'],
  ['failure', 'failed'],
  ['cancel', 'cancelled'],
]);
const READS = ['status', 'paymentID', 'paymentId'] as const;

export const gatewayTwo: PaymentDriver = redactSecrets({
  gateway: 'gateway_two',
  callback: {
    method: 'GET',
    acknowledgement: { body: 'ok', contentType: 'text/plain; charset=utf-8' },
    isFromBrowser: true,
    reads: READS,
    checkoutFields: ['paymentID', 'paymentId'],
  },
  credentials: ['username', 'password', 'appKey', 'appSecret'],
  // Deployments differ in the name of the payment id in execute and query.
  options: { paymentIdField: ['paymentId', 'paymentID'] },
  productionUrls: ['https://tokenized.pay.bka.sh/v1.2.0-beta/tokenized/checkout'],
  rootUrl,

  readCallback({ status = '', paymentID, paymentId }: CallbackFields<(typeof READS)[number]>) {
    if (paymentID && paymentId && paymentID !== paymentId) {
      throw new CallbackMalformed(
        'paymentID',
        'paymentID and paymentId differ: give one, or both with the same value',
      );
    }
    const providerPaymentId = paymentID || paymentId;
    return {
      outcome: OUTCOMES.get(status) ?? 'ignored',
      status,
      ...(providerPaymentId && { providerPaymentId }),
    };
  },

  createCheckout,
  verify,
  findPayments,
  refunds,

  async testCredentials(access) {
    await renewToken(access);
    return { detail: 'the provider grants access tokens for the credentials' };
  },
});
