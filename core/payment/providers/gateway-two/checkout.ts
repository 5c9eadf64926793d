// Creates the checkout of a charge session at gateway_two.
import { formatDecimal } from '../../money.ts';
import type { PaymentDriver } from '../driver.ts';
import { readCheckout } from './answers.ts';
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
