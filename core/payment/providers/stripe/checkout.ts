// Creates checkout sessions at Stripe.
import { createHash } from 'node:crypto';
import type Stripe from 'stripe';
import { type Checkout, type CheckoutRequest, type PaymentDriver, ProviderUnavailable } from '../driver.ts';
import { recordStep } from '../driver-calls.ts';
import { toStripeAmount } from './amounts.ts';
import { callStripe } from './client.ts';
import { HUB_SESSION, HUB_TRANSACTION } from './metadata.ts';

export const createCheckout: PaymentDriver['createCheckout'] = (access, checkout) =>
  recordStep(
    access,
    'create',
    async () => {
      const params = paramsOf(checkout);
      // The same request creates one checkout session, however often it is sent.
      const digest = createHash('sha256').update(JSON.stringify(params)).digest('hex').slice(0, 32);
      const idempotencyKey = `${checkout.sessionId}-${digest}`;
      return callStripe(access, async (stripe) =>
        readCheckout(await stripe.checkout.sessions.create(params, { idempotencyKey })),
      );
    },
    () => ({ outcome: 'pending', detail: 'the provider created a checkout session' }),
  );

function paramsOf(checkout: CheckoutRequest): Stripe.Checkout.SessionCreateParams {
  const { sessionId, merchantTransactionId, amount, orderReference, customer, callbackUrl } = checkout;
  const { browserUrl = callbackUrl } = checkout;
  const metadata = { [HUB_SESSION]: sessionId, [HUB_TRANSACTION]: merchantTransactionId };
  return {
    mode: 'payment',
    client_reference_id: sessionId,
    metadata,
    payment_intent_data: { metadata },
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: amount.currency.toLowerCase(),
          unit_amount: toStripeAmount(amount),
          product_data: { name: orderReference || 'Order' },
        },
      },
    ],
    ...(customer.email && { customer_email: customer.email }),
    success_url: browserUrl,
    cancel_url: browserUrl,
  };
}

function readCheckout({ id, url }: Stripe.Checkout.Session): Checkout {
  if (typeof id !== 'string' || !/^[\w-]{1,255}$/.test(id)) {
    throw new ProviderUnavailable("the provider's answer has no id of a checkout session");
  }
  if (typeof url !== 'string' || !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new ProviderUnavailable('"url" of the answer is not an http or https URL');
  }
  return { providerPaymentId: id, checkoutUrl: url };
}
