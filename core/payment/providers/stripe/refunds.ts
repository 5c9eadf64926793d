// Refunds and disputes of Stripe.
import type Stripe from 'stripe';
import {
  type FoundRefunds,
  type ProviderAccess,
  type ProviderRefund,
  ProviderUnavailable,
  type RefundCalls,
} from '../driver.ts';
import { recordStep } from '../driver-calls.ts';
import { describeRefund, refundedMinor } from '../reported-refunds.ts';
import { fromStripeAmount, toStripeAmount } from './amounts.ts';
import { callStripe, queryStripe } from './client.ts';
import { HUB_REFUND } from './metadata.ts';

const PAGE = 100;
/** More refunds or disputes than a payment has. */
const MAX_FOUND = 1_000;
/** Characters of a value of metadata. */
const MAX_METADATA = 500;

export const refunds: RefundCalls = {
  request: (access, { payment, reference, amount, reason }) =>
    recordStep(
      access,
      'refund',
      async () => {
        const params: Stripe.RefundCreateParams = {
          payment_intent: payment.gatewayTransactionId,
          amount: toStripeAmount(amount),
          // The reference lets `find` recognize a refund whose answer was lost.
          metadata: { [HUB_REFUND]: reference, reason: reason.slice(0, MAX_METADATA) },
        };
        return callStripe(access, async (stripe) =>
          readRefund(await stripe.refunds.create(params, { idempotencyKey: reference })),
        );
      },
      describeRefund,
      'not_refunded',
    ),

  find: (access, { payment }) =>
    recordStep(
      access,
      'refund-query',
      () => findAll(access, payment.gatewayTransactionId),
      ({ refunds: found }) => ({
        outcome: refundedMinor(found) > 0n ? 'refunded' : 'not_refunded',
        detail: `refunds and disputes: ${found.map(({ detail }) => detail).join('; ') || 'none'}`,
      }),
    ),
};

function findAll(access: ProviderAccess, paymentIntent: string): Promise<FoundRefunds> {
  const by = { payment_intent: paymentIntent, limit: PAGE };
  return queryStripe(access, async (stripe) => {
    const list = await stripe.refunds.list(by).autoPagingToArray({ limit: MAX_FOUND });
    const disputes = await stripe.disputes.list(by).autoPagingToArray({ limit: MAX_FOUND });
    // An inquiry of the bank does not take money yet.
    const chargebacks = disputes.filter(({ status }) => !status.startsWith('warning_'));
    // Stripe lists the newest first.
    const refunds = [...list.map(readRefund).reverse(), ...chargebacks.map(readDispute).reverse()];
    return { refunds, isReversed: false };
  });
}

function readRefund(refund: Stripe.Refund): ProviderRefund {
  const { id, amount, currency, status, failure_reason: failure, metadata } = refund;
  const reference = metadata?.[HUB_REFUND];
  return {
    kind: 'refund',
    gatewayRefundId: readId(id),
    ...(reference && { reference }),
    amount: fromStripeAmount(amount, currency),
    state: REFUND_STATES.get(status ?? '') ?? 'pending',
    detail: `the provider says ${status} of the refund${failure ? ` (${failure})` : ''}`,
  };
}

const REFUND_STATES: ReadonlyMap<string, ProviderRefund['state']> = new Map([
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
]);

function readDispute({ id, amount, currency, status, reason }: Stripe.Dispute): ProviderRefund {
  return {
    kind: 'dispute',
    gatewayRefundId: readId(id),
    amount: fromStripeAmount(amount, currency),
    state: DISPUTE_STATES.get(status) ?? 'pending',
    detail: `the provider says ${status} of the dispute (${reason})`,
  };
}

/** A dispute succeeds if the customer wins it, which Stripe calls `lost`. */
const DISPUTE_STATES: ReadonlyMap<string, ProviderRefund['state']> = new Map([
  ['lost', 'succeeded'],
  ['won', 'failed'],
  ['prevented', 'failed'],
]);

function readId(id: unknown): string {
  if (typeof id === 'string' && /^[\w-]{1,255}$/.test(id)) return id;
  throw new ProviderUnavailable("the provider's answer has a refund without an id");
}
