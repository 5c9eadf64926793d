// Reads the events that Stripe sends to the webhook: verifies the signature, keeps the ids, and reads the
// claim.
import type Stripe from 'stripe';
import { parseId } from '../../../ids.ts';
import {
  type CallbackClaim,
  type CallbackFields,
  CallbackMalformed,
  type OpenedCallback,
  type SignedCallbacks,
} from '../driver.ts';
import { loadStripe } from './client.ts';
import { HUB_SESSION, HUB_TRANSACTION } from './metadata.ts';

export const SIGNATURE = 'stripe-signature';
/** The maximum age of a signature when the event arrives. */
const TOLERANCE_SECONDS = 300;
const MAX_ID_CHARACTERS = 255;

export const READS = [
  'event',
  'type',
  'checkout_session',
  'transaction',
  'payment_status',
  'payment_intent',
] as const;
/** Ids for inquiries of operators. */
export const SHOWS = ['charge', 'refund', 'dispute'] as const;

type Fields = Record<string, string>;

export const openEvent: SignedCallbacks['open'] = async ({ body, headers, receivedAt }, credentials) => {
  const { webhooks, errors } = await loadStripe();
  const { webhookSecret = '' } = credentials.reveal();
  let event: Stripe.Event;
  try {
    event = webhooks.constructEvent(
      Buffer.from(body),
      headers[SIGNATURE] ?? '',
      webhookSecret,
      TOLERANCE_SECONDS,
      undefined,
      receivedAt.getTime(),
    );
  } catch (error) {
    if (error instanceof errors.StripeSignatureVerificationError) {
      if (!error.message.startsWith('Timestamp')) return undefined;
      throw new CallbackMalformed(SIGNATURE, `the signature is older than ${TOLERANCE_SECONDS / 60} minutes`);
    }
    throw new CallbackMalformed('body', 'the body is not an event of Stripe');
  }
  return readEvent(event);
};

/** @throws CallbackMalformed */
function readEvent(event: unknown): OpenedCallback {
  const object = memberOf(memberOf(event, 'data'), 'object');
  const type = idOf(memberOf(event, 'type'));
  const eventId = idOf(memberOf(event, 'id'));
  if (type === undefined || eventId === undefined) {
    throw new CallbackMalformed('body', 'the body is not an event of Stripe: it has no id or no type');
  }
  const objectId = idOf(memberOf(object, 'id'));
  const metadata = memberOf(object, 'metadata');
  const isSession = type.startsWith('checkout.session.');
  // Not client_reference_id: a customer can set that of a payment link, to the session of somebody else.
  const sessionId = sessionIdIn(memberOf(metadata, HUB_SESSION));
  const fields = withoutEmpty({
    event: eventId,
    type,
    ...(isSession && {
      checkout_session: objectId,
      transaction: idOf(memberOf(metadata, HUB_TRANSACTION)),
      payment_status: idOf(memberOf(object, 'payment_status')),
    }),
    payment_intent: idOf(memberOf(object, 'payment_intent')),
    charge:
      type.startsWith('charge.') && !type.startsWith('charge.dispute.')
        ? objectId
        : idOf(memberOf(object, 'charge')),
    refund: type.startsWith('refund.') ? objectId : undefined,
    dispute: type.startsWith('charge.dispute.') ? objectId : undefined,
  });
  return { fields, ...(isSession && sessionId !== undefined && { sessionId }) };
}

/**
 * Reads what the event claims. Only an answer of Stripe's API settles a session, even if the signature is
 * valid.
 */
export function readClaim(fields: CallbackFields<(typeof READS)[number]>): CallbackClaim {
  const { type = '', checkout_session, transaction, payment_status, payment_intent } = fields;
  if (type === '') throw new CallbackMalformed('type', 'type is required and must not be empty');
  const outcome = outcomeOf(type, payment_status);
  if (outcome === 'refunded') {
    // Without a payment intent nothing finds the payment.
    return { outcome, status: type, ...(payment_intent && { paymentProof: payment_intent }) };
  }
  return {
    outcome,
    status: type,
    ...(transaction && { merchantTransactionId: transaction }),
    ...(checkout_session && { providerPaymentId: checkout_session }),
  };
}

function outcomeOf(type: string, paymentStatus: string | undefined): CallbackClaim['outcome'] {
  switch (type) {
    case 'checkout.session.completed':
      // An asynchronous payment is unpaid for days.
      return paymentStatus === 'paid' ? 'paid' : 'unknown';
    case 'checkout.session.async_payment_succeeded':
      return 'paid';
    case 'checkout.session.async_payment_failed':
      return 'failed';
    case 'checkout.session.expired':
      return 'cancelled';
    case 'charge.refunded':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
      return 'refunded';
    default:
      return 'ignored';
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** An id, or the id of an expanded object. Undefined for other values, which may contain anything. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' ? memberOf(value, 'id') : value;
  return typeof id === 'string' && id.length <= MAX_ID_CHARACTERS && /^[\w.-]+$/.test(id) ? id : undefined;
}

/** The metadata of a session that the hub did not create may contain anything, such as a name. */
function sessionIdIn(value: unknown): string | undefined {
  return typeof value === 'string' && parseId('chs', value) !== undefined ? value : undefined;
}

function withoutEmpty(fields: Readonly<Record<string, string | undefined>>): Fields {
  const given = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(given);
}
