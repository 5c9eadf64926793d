// Objects of Stripe's API: checkout sessions, payment intents, charges, refunds and disputes.
import { type Amount, lessProviderFee } from '../amount.ts';
import type { Payment } from '../payment.ts';
import type { Refund, RefundState } from '../refunds.ts';
import { toApi } from './amounts.ts';

/** What Stripe knows of a checkout session besides its payment. */
export type Checkout = {
  readonly payment: Payment;
  readonly clientReference: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** The customer's, for the session of a payment link; others have what the merchant sent. */
  readonly customer: { readonly email: string | null; readonly name: string | null };
  /** The price of a payment link. */
  readonly price: string | undefined;
  readonly quantity: number;
  readonly disputes: Dispute[];
};

export type Dispute = { readonly id: string; readonly amount: Amount; readonly at: Date; status: string };

type Json = Readonly<Record<string, unknown>>;

export const intentId = ({ ref }: Payment): string => `pi_${ref.slice('cs_'.length)}`;
export const chargeId = ({ ref }: Payment): string => `ch_${ref.slice('cs_'.length)}`;

const seconds = (at: Date): number => Math.floor(at.getTime() / 1000);
const DAY_SECONDS = 86_400;

export function sessionObject(checkout: Checkout, url: string, expand: readonly string[]): Json {
  const { payment, clientReference, metadata, customer, price, quantity } = checkout;
  const { ref, amount, state, createdAt } = payment;
  const isComplete = /^(authorized|paid|reversed|declined)$/.test(state);
  const status = isComplete ? 'complete' : state === 'expired' ? 'expired' : 'open';
  const total = toApi(amount);
  const item = {
    id: `li_${ref}`,
    object: 'item',
    quantity,
    amount_total: total,
    price: { id: price ?? 'price_once' },
  };
  return {
    id: ref,
    object: 'checkout.session',
    mode: 'payment',
    amount_total: total,
    currency: amount.currency.toLowerCase(),
    client_reference_id: clientReference,
    metadata,
    payment_link: price === undefined ? null : 'plink_simulated',
    customer_details: isComplete ? customer : null,
    payment_intent: !isComplete
      ? null
      : expand.some((path) => path.startsWith('payment_intent'))
        ? intentObject(payment, expand.includes('payment_intent.latest_charge.balance_transaction'))
        : intentId(payment),
    payment_status: state === 'paid' || state === 'reversed' ? 'paid' : 'unpaid',
    status,
    url: status === 'open' ? url : null,
    created: seconds(createdAt),
    expires_at: seconds(createdAt) + DAY_SECONDS,
    ...(expand.includes('line_items') && { line_items: listObject([item], '/v1/line_items') }),
  };
}

/** @param isExpanded whether to show the charge and what Stripe books of it, instead of the id of the charge */
export function intentObject(payment: Payment, isExpanded = false): Json {
  const { state, amount } = payment;
  const status =
    state === 'authorized' ? 'processing' : state === 'declined' ? 'requires_payment_method' : 'succeeded';
  return {
    id: intentId(payment),
    object: 'payment_intent',
    amount: toApi(amount),
    currency: amount.currency.toLowerCase(),
    status,
    latest_charge: isExpanded ? bookedCharge(payment) : chargeId(payment),
  };
}

/** A payment that is not complete is not booked. */
function bookedCharge(payment: Payment): Json {
  const { amount, state } = payment;
  const net = lessProviderFee(amount);
  const booked = {
    id: `txn_${payment.ref.slice('cs_'.length)}`,
    object: 'balance_transaction',
    amount: toApi(amount),
    fee: toApi({ ...amount, minor: amount.minor - net.minor }),
    net: toApi(net),
    currency: amount.currency.toLowerCase(),
  };
  const isBooked = state === 'paid' || state === 'reversed';
  return { id: chargeId(payment), object: 'charge', balance_transaction: isBooked ? booked : null };
}

export function chargeObject(payment: Payment, refundedMinor: bigint): Json {
  const { amount, state } = payment;
  return {
    id: chargeId(payment),
    object: 'charge',
    amount: toApi(amount),
    amount_refunded: toApi({ ...amount, minor: refundedMinor }),
    currency: amount.currency.toLowerCase(),
    paid: state === 'paid',
    refunded: refundedMinor >= amount.minor,
    payment_intent: intentId(payment),
  };
}

const REFUND_STATUS = { processing: 'pending', refunded: 'succeeded', cancelled: 'failed' } as const;

export function refundObject(refund: Refund, state: RefundState): Json {
  const { id, payment, amount, createdAt, metadata = {} } = refund;
  return {
    id,
    object: 'refund',
    amount: toApi(amount),
    currency: amount.currency.toLowerCase(),
    payment_intent: intentId(payment),
    charge: chargeId(payment),
    status: REFUND_STATUS[state],
    metadata,
    created: seconds(createdAt),
  };
}

export function disputeObject(payment: Payment, { id, amount, status, at }: Dispute): Json {
  return {
    id,
    object: 'dispute',
    amount: toApi(amount),
    currency: amount.currency.toLowerCase(),
    payment_intent: intentId(payment),
    charge: chargeId(payment),
    reason: 'fraudulent',
    status,
    created: seconds(at),
  };
}

export function listObject(data: readonly Json[], url: string): Json {
  return { object: 'list', data, has_more: false, url };
}
