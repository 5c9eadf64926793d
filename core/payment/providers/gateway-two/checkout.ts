// Creates the checkout of a charge session at gateway_two.
import { formatDecimal } from '../../money.ts';
import { type Checkout, type PaymentDriver, ProviderRefused, ProviderUnavailable } from '../driver.ts';
import { readCheckoutUrl } from '../driver-calls.ts';
import { isDone, isTransient, paymentIdOf, type Reply } from './answers.ts';
import { callAuthorized } from './calls.ts';

const CREATE_TIMEOUT_MS = 30_000;

export const createCheckout: PaymentDriver['createCheckout'] = (
  access,
  { merchantTransactionId, amount, callbackUrl, customer },
) =>
  callAuthorized(access, {
    operation: 'create',
    path: '/create',
    timeoutMs: CREATE_TIMEOUT_MS,
    body: {
      mode: '0011',
      payerReference: customer.phone || merchantTransactionId,
      callbackURL: callbackUrl,
      amount: formatDecimal(amount),
      currency: amount.currency,
      intent: 'sale',
      merchantInvoiceNumber: merchantTransactionId,
    },
    read: readCheckout,
    note: () => ({ outcome: 'pending', detail: 'the provider created a checkout' }),
  });

/** @throws ProviderRefused, ProviderUnavailable */
export function readCheckout(reply: Reply): Checkout {
  const { answer, summary } = reply;
  if (isDone(reply)) {
    return { providerPaymentId: paymentIdOf(answer), checkoutUrl: readCheckoutUrl(answer, 'bkashURL') };
  }
  if (isTransient(reply)) {
    throw new ProviderUnavailable(`the provider cannot create a checkout now: ${summary}`);
  }
  throw new ProviderRefused(`the provider refused the checkout: ${summary}`);
}
