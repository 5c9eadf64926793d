// Finds the payments of a session at Stripe.
import type Stripe from 'stripe';
import type { FoundPayment, FoundPayments, PaymentSearch, ProviderAccess } from '../driver.ts';
import { findClaimed, recordStep } from '../driver-calls.ts';
import { HUB_TRANSACTION } from './metadata.ts';
import { amountOf, paymentIntentOf, retrieve } from './verify-payment.ts';

/** A checkout session is paid once, so only other sessions that callbacks named can be further payments. */
export function findPayments(access: ProviderAccess, search: PaymentSearch): Promise<FoundPayments> {
  return findClaimed(search, (id) =>
    recordStep(
      access,
      'query',
      () => retrieve(access, id, (session) => readPayment(session, id, search)),
      (payment) => ({
        outcome: payment ? 'paid' : 'pending',
        detail: `the provider says the checkout session ${id} is ${payment ? '' : 'not '}paid`,
      }),
    ),
  );
}

function readPayment(
  session: Stripe.Checkout.Session,
  id: string,
  { merchantTransactionId }: PaymentSearch,
): FoundPayment | undefined {
  const isOurs = session.id === id && session.metadata?.[HUB_TRANSACTION] === merchantTransactionId;
  if (!isOurs || session.payment_status !== 'paid') return undefined;
  return { gatewayTransactionId: paymentIntentOf(session), providerPaymentId: id, amount: amountOf(session) };
}
