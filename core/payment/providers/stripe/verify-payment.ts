// Verifies payments at Stripe: compares the transaction, amount and currency of a checkout session.
import type Stripe from 'stripe';
import { DAY_MS, HOUR_MS } from '../../../clock.ts';
import { formatMoney, type Money, sameMoney } from '../../money.ts';
import {
  type ExpectedPayment,
  type PaymentDriver,
  type ProviderAccess,
  ProviderUnavailable,
  type Verdict,
} from '../driver.ts';
import { describeVerdict, recordStep } from '../driver-calls.ts';
import { fromStripeAmount } from './amounts.ts';
import { queryStripe } from './client.ts';
import { HUB_TRANSACTION } from './metadata.ts';

/** The charge of the payment intent, with what Stripe books. */
const WITH_FEE = 'payment_intent.latest_charge.balance_transaction';
/** Stripe expires a checkout session after 24 hours; the hub verifies it an hour longer. */
const OPEN_MS = 25 * HOUR_MS;
/** Bank debits and transfers take days to be paid. */
const PROCESSING_MS = 30 * DAY_MS;

export const verify: PaymentDriver['verify'] = async (access, expected) => {
  if (expected.providerPaymentId === '') {
    return { kind: 'pending', detail: 'the provider has not created a checkout session' };
  }

  const judge = () =>
    retrieve(access, expected.providerPaymentId, (session) =>
      judgeSession(session, expected, access.clock()),
    );
  return recordStep(access, 'query', judge, describeVerdict);
};

export function retrieve<T>(
  access: ProviderAccess,
  id: string,
  read: (session: Stripe.Checkout.Session) => T,
): Promise<T> {
  return queryStripe(access, async (stripe) =>
    read(await stripe.checkout.sessions.retrieve(id, { expand: [WITH_FEE] })),
  );
}

/** @throws ProviderUnavailable */
export function judgeSession(
  session: Stripe.Checkout.Session,
  expected: ExpectedPayment,
  now: Date,
): Verdict {
  if (session.id !== expected.providerPaymentId || !isOfHub(session, expected.merchantTransactionId)) {
    return { kind: 'mismatch', detail: 'the provider answered about another checkout session' };
  }
  const amount = amountOf(session);
  const { status, payment_status: paid } = session;
  const detail = `the provider says ${status}, ${paid}: ${formatMoney(amount)}`;
  if (!sameMoney(amount, expected.amount)) {
    return { kind: 'mismatch', detail: `${detail}, not ${formatMoney(expected.amount)}` };
  }
  switch (status) {
    case 'expired':
      return { kind: 'not_paid', status: 'cancelled', detail };
    case 'open':
      return { kind: 'pending', until: new Date(session.created * 1000 + OPEN_MS), detail };
    case 'complete':
      if (paid === 'paid') {
        const received = receivedOf(session);
        const gatewayTransactionId = paymentIntentOf(session);
        return { kind: 'paid', gatewayTransactionId, ...(received && { received }), detail };
      }
      return judgeUnpaid(session, detail, now);
    default:
      throw new ProviderUnavailable('"status" of the checkout session is unknown');
  }
}

/** The customer has completed the checkout, and the bank has not paid yet. */
function judgeUnpaid(session: Stripe.Checkout.Session, detail: string, now: Date): Verdict {
  const { payment_intent: intent, payment_status: paid } = session;
  const state = typeof intent === 'object' ? intent?.status : undefined;
  if (paid === 'unpaid' && (state === 'requires_payment_method' || state === 'canceled')) {
    return { kind: 'not_paid', status: 'failed', detail: `${detail}; the payment failed (${state})` };
  }
  const until = new Date(session.created * 1000 + PROCESSING_MS);
  return { kind: 'pending', ...(until > now && { until }), detail: `${detail}; the payment is in progress` };
}

/**
 * Whether the metadata name this transaction. A session of a payment link has none: its stored id is enough.
 */
function isOfHub({ metadata }: Stripe.Checkout.Session, merchantTransactionId: string): boolean {
  const named = metadata?.[HUB_TRANSACTION];
  return named === undefined || named === merchantTransactionId;
}

export function amountOf({ amount_total, currency }: Stripe.Checkout.Session): Money {
  return fromStripeAmount(amount_total, currency);
}

/**
 * What the vendor receives: less Stripe's fee. Undefined if Stripe has not booked the payment, or not
 * readably.
 */
function receivedOf({ payment_intent: intent }: Stripe.Checkout.Session): Money | undefined {
  const charge = typeof intent === 'object' ? intent?.latest_charge : undefined;
  const booked = typeof charge === 'object' ? charge?.balance_transaction : undefined;
  if (typeof booked !== 'object' || booked === null || !(booked.net >= 0)) return undefined;
  try {
    return fromStripeAmount(booked.net, booked.currency);
  } catch (error) {
    if (error instanceof ProviderUnavailable) return undefined; // the payment settles without it
    throw error;
  }
}

/** @throws ProviderUnavailable if there is none */
export function paymentIntentOf({ payment_intent: intent }: Stripe.Checkout.Session): string {
  const id = typeof intent === 'string' ? intent : intent?.id;
  if (typeof id === 'string' && /^[\w-]{1,255}$/.test(id)) return id;
  throw new ProviderUnavailable('the checkout session has no payment intent');
}
