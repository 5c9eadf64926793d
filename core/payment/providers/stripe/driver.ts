// stripe: Checkout Sessions, and webhook events that Stripe signs.
import { type PaymentDriver, ProviderRefused } from '../driver.ts';
import { recordStep, redactSecrets } from '../driver-calls.ts';
import { catalog } from './catalog.ts';
import { createCheckout } from './checkout.ts';
import { callStripe } from './client.ts';
import { openEvent, READS, readClaim, SHOWS, SIGNATURE } from './events.ts';
import { findPayments } from './find-payments.ts';
import { refunds } from './refunds.ts';
import { verify } from './verify-payment.ts';

export const stripe: PaymentDriver = redactSecrets({
  gateway: 'stripe',
  callback: {
    method: 'POST',
    acknowledgement: { body: '{"received":true}', contentType: 'application/json' },
    reads: READS,
    paymentField: 'payment_intent',
    checkoutFields: ['checkout_session'],
    shows: SHOWS,
    signed: { headers: [SIGNATURE], open: openEvent },
  },
  credentials: ['secretKey', 'webhookSecret'],
  options: {},
  productionUrls: ['https://api.stripe.com'],
  readCallback: readClaim,
  createCheckout,
  verify,
  findPayments,
  refunds,
  catalog,

  testCredentials: (access) =>
    recordStep(
      access,
      'query',
      async () => {
        await callStripe(access, (client) => client.checkout.sessions.list({ limit: 1 }));
        if (!access.credentials.reveal()['webhookSecret']?.startsWith('whsec_')) {
          throw new ProviderRefused(
            'webhookSecret is not the signing secret of an endpoint: it starts with whsec_',
          );
        }
        return { detail: 'the provider accepts the secret key' };
      },
      ({ detail }) => ({ outcome: 'pending', detail }),
    ),
});
