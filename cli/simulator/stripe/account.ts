// A simulated account at Stripe: its checkouts, the controls that change them, and the events about the changes.
import { randomBytes } from 'node:crypto';
import { type Amount, parseAmount } from '../amount.ts';
import type { Callbacks } from '../callbacks.ts';
import type { Ledger } from '../ledger.ts';
import { type Outcome, type Payment, requireState, SimulatorError } from '../payment.ts';
import type { CallbackRequest } from '../provider.ts';
import type { Refund } from '../refunds.ts';
import type { Events } from './events.ts';
import {
  type Checkout,
  chargeObject,
  type Dispute,
  disputeObject,
  refundObject,
  sessionObject,
} from './objects.ts';

export type StripeAccount = { readonly secretKey: string; readonly webhookSecret: string };

export type AccountOptions = {
  readonly ledger: Ledger;
  readonly callbacks: Callbacks;
  readonly events: Events;
  /** The address of the webhook; default that of the hub that created the last checkout session. */
  readonly webhookUrl: string | undefined;
  readonly checkoutUrl: (ref: string) => string;
  readonly now: () => number;
};

/** A purchase by a payment link, which no merchant's program starts. */
export type LinkPurchase = {
  readonly price: string;
  readonly amount: string;
  readonly currency: string;
  readonly email: string;
  readonly name?: string;
  readonly quantity?: number;
  readonly reference?: string;
};

export type SimulatedDispute = Pick<Payment, 'ref'> & Readonly<Dispute>;

export type Account = ReturnType<typeof createAccount>;
export type StripeControls = Account['controls'];

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createAccount(options: AccountOptions) {
  const { ledger, callbacks, events, checkoutUrl, now } = options;
  const checkouts = new Map<string, Checkout>();
  let webhookUrl = options.webhookUrl;

  const find = (ref: string): Checkout => {
    const checkout = checkouts.get(ledger.find(ref).ref);
    if (checkout === undefined) throw new SimulatorError('only payments of Stripe support this');
    return checkout;
  };
  const session = (checkout: Checkout, expand: readonly string[] = []) =>
    sessionObject(checkout, checkoutUrl(checkout.payment.ref), expand);
  const refundJson = (refund: Refund) => refundObject(refund, ledger.refunds.stateOf(refund));

  const sessionEvent = (checkout: Checkout, type: string): CallbackRequest | undefined =>
    webhookUrl === undefined
      ? undefined
      : events.make(webhookUrl, `checkout.session.${type}`, session(checkout));
  const forgery = (payment: Payment, claim: Outcome): CallbackRequest | undefined => {
    const checkout = checkouts.get(payment.ref);
    if (checkout === undefined || webhookUrl === undefined) return undefined;
    const type = claim === 'paid' ? 'completed' : 'expired';
    return events.forge(webhookUrl, `checkout.session.${type}`, {
      ...session(checkout),
      payment_status: 'paid',
    });
  };
  const send = (payment: Payment, request: CallbackRequest | undefined, claim: Outcome = 'paid'): void => {
    if (request !== undefined) callbacks.send(request, payment, forgery(payment, claim));
  };
  const sendEvent = (payment: Payment, type: string, object: object): void => {
    if (webhookUrl !== undefined) send(payment, events.make(webhookUrl, type, object));
  };

  ledger.refunds.onChange((refund, isNew) => {
    const { payment } = refund;
    if (payment.gateway !== 'stripe') return;
    sendEvent(payment, isNew ? 'refund.created' : 'refund.updated', refundJson(refund));
    sendEvent(payment, 'charge.refunded', chargeObject(payment, ledger.refunds.refundedMinor(payment)));
  });

  const open = (
    order: {
      readonly amount: Amount;
      readonly description: string;
      readonly urls: readonly [string, string];
    },
    about: Omit<Checkout, 'payment' | 'disputes'>,
  ): Checkout => {
    const ref = `cs_test_${randomBytes(12).toString('hex')}`;
    const [success, cancel] = order.urls;
    const payment = ledger.open(
      {
        gateway: 'stripe',
        merchantTransactionId: about.clientReference ?? ref,
        amount: order.amount,
        merchant: 'simulated-account',
        description: order.description,
        notifyUrl: undefined,
        returnUrls: { paid: success, failed: cancel, cancelled: cancel },
        echo: {},
      },
      ref,
    );
    const checkout = { ...about, payment, disputes: [] };
    checkouts.set(ref, checkout);
    const [, hub] = /^(.*)\/v1\/return\/[^/]+$/.exec(success) ?? [];
    if (hub !== undefined) webhookUrl = options.webhookUrl ?? `${hub}/v1/webhooks/stripe`;
    return checkout;
  };

  /** What tests and the control API can make happen. Throws a SimulatorError if it is not possible now. */
  const controls = {
    /** The customer completes the checkout with a payment that a bank settles later. */
    payLater(ref: string): void {
      const checkout = find(ref);
      ledger.authorize(checkout.payment);
      send(checkout.payment, sessionEvent(checkout, 'completed'));
    },
    /** The bank settles such a payment, or does not. */
    settle(ref: string): void {
      const checkout = find(ref);
      requireState(checkout.payment, 'authorized');
      ledger.execute(checkout.payment);
      send(checkout.payment, sessionEvent(checkout, 'async_payment_succeeded'));
    },
    decline(ref: string): void {
      const checkout = find(ref);
      requireState(checkout.payment, 'authorized');
      checkout.payment.state = 'declined';
      send(checkout.payment, sessionEvent(checkout, 'async_payment_failed'), 'failed');
    },
    expire(ref: string): void {
      const checkout = find(ref);
      if (!/^(initiated|failed|cancelled)$/.test(checkout.payment.state))
        requireState(checkout.payment, 'initiated');
      checkout.payment.state = 'expired';
      send(checkout.payment, sessionEvent(checkout, 'expired'), 'cancelled');
    },
    /** A customer buys by a payment link. Returns the id of the checkout session. */
    buy({ price, amount: text, currency, email, name, quantity = 1, reference }: LinkPurchase): string {
      const amount = parseAmount(text, currency);
      if (amount === undefined) throw new SimulatorError(`${text} ${currency} is no amount`);
      const about = { clientReference: reference ?? null, metadata: {}, price, quantity };
      const customer = { email, name: name ?? null };
      const urls = ['https://link.example/thanks', 'https://link.example/'] as const;
      const checkout = open({ amount, description: 'Payment link', urls }, { ...about, customer });
      ledger.decide(checkout.payment, 'paid');
      send(checkout.payment, sessionEvent(checkout, 'completed'));
      return checkout.payment.ref;
    },
    /** The customer's bank demands back what was not refunded. Returns the dispute's id. */
    dispute(ref: string): string {
      const checkout = find(ref);
      const { payment, disputes } = checkout;
      requireState(payment, 'paid');
      const id = `du_${randomBytes(12).toString('hex')}`;
      const minor = ledger.refunds.left(payment, payment.proof ?? '');
      if (minor === 0n) throw new SimulatorError(`payment ${ref} is refunded`);
      if (disputes.some(({ status }) => status !== 'won'))
        throw new SimulatorError(`payment ${ref} is disputed`);
      const amount = { ...payment.amount, minor };
      const dispute: Dispute = { id, amount, at: new Date(now()), status: 'needs_response' };
      disputes.push(dispute);
      sendEvent(payment, 'charge.dispute.created', disputeObject(payment, dispute));
      return dispute.id;
    },
    /** The bank decides: `won` if the merchant keeps the money. */
    closeDispute(ref: string, decision: 'won' | 'lost'): void {
      const { payment, disputes } = find(ref);
      const dispute = disputes.findLast(({ status }) => status === 'needs_response');
      if (dispute === undefined) throw new SimulatorError('no dispute is open');
      dispute.status = decision;
      sendEvent(payment, 'charge.dispute.closed', disputeObject(payment, dispute));
    },
    /** Of all payments, oldest first. */
    disputes: (): readonly SimulatedDispute[] =>
      [...checkouts.values()].flatMap(({ payment: { ref }, disputes }) =>
        disputes.map((dispute) => ({ ref, ...dispute })),
      ),
    events: events.sent,
  };

  return {
    controls,
    open,
    checkouts,
    session,
    refundJson,
    sessionEvent,
    forgery,
  };
}
