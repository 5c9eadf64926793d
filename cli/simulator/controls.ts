// Controls of a running simulator: press the customers' buttons, inject faults, read the provider's ledger.
import type { Callbacks } from './callbacks.ts';
import type { Customer } from './customer.ts';
import type { Faults } from './faults.ts';
import type { Ledger } from './ledger.ts';
import { refundInPanel } from './merchant-panel.ts';
import { mayDecide, type Outcome, type Payment } from './payment.ts';
import type { Refund, RefundState } from './refunds.ts';
import type { Outage } from './simulator-port.ts';
import type { StripeControls } from './stripe/account.ts';

/** A payment as the provider knows it. */
export type SimulatedPayment = Readonly<
  Pick<
    Payment,
    'gateway' | 'merchantTransactionId' | 'ref' | 'proof' | 'amount' | 'state' | 'executions' | 'createdAt'
  >
>;

/** A refund as the provider knows it. */
export type SimulatedRefund = Pick<Refund, 'id' | 'proof' | 'reference' | 'amount' | 'reason' | 'createdAt'> &
  Pick<Payment, 'gateway' | 'merchantTransactionId' | 'ref'> & { readonly state: RefundState };

/** Conditions of the network, which requests read. */
export type Conditions = {
  /** Delay added to every provider response. */
  latencyMs: number;
  /** Requests that followed a redirect. */
  followedRedirects: number;
};

export type ControlsParts = {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly callbacks: Callbacks;
  readonly customer: Customer;
  readonly conditions: Conditions;
  /** Makes the providers unreachable for a while. */
  readonly down: (ms: number, how: Outage) => void;
  readonly stripe: StripeControls;
};

export type Controls = ReturnType<typeof createControls>;

/**
 * `ref` is the provider's id (session key, payment id) or the merchant's transaction id. A control throws a
 * SimulatorError if the payment is unknown or its state forbids the action.
 */
export function createControls(parts: ControlsParts) {
  const { ledger, faults, callbacks, customer, conditions, down, stripe } = parts;
  return {
    faults,
    stripe,
    down,
    payments: (): readonly SimulatedPayment[] => ledger.payments().map(simulated),
    /** Validation ids of a gateway_one checkout's payments, oldest first. */
    proofs: (ref: string): readonly string[] => ledger.find(ref).attempts.flatMap(({ proof }) => proof ?? []),
    /** Refunds of all payments, oldest first. */
    refunds: (): readonly SimulatedRefund[] =>
      ledger.refunds.all().map((refund) => simulatedRefund(ledger, refund)),
    /** Payments less reversals, refunds and lost disputes, in minor units by currency. */
    totals() {
      const totals = ledger.totals();
      for (const { amount, status } of stripe.disputes()) {
        if (status === 'lost') totals[amount.currency] = (totals[amount.currency] ?? 0n) - amount.minor;
      }
      return totals;
    },
    /** Presses a button as the customer and sends callbacks. */
    pay: (ref: string) => customer.decide(ledger.find(ref), 'paid'),
    fail: (ref: string) => customer.decide(ledger.find(ref), 'failed'),
    cancel: (ref: string) => customer.decide(ledger.find(ref), 'cancelled'),
    /** Pays every open payment. Returns their number. */
    payAll() {
      const open = ledger.payments().filter(mayDecide);
      for (const payment of open) customer.decide(payment, 'paid');
      return open.length;
    },
    /** Authorizes with gateway_two as a customer who then closes the tab: no callback is sent. */
    authorizeAndLeave: (ref: string) => customer.authorizeAndLeave(ledger.find(ref)),
    /** Pays a paid payment again and sends the callback. */
    payAgain: (ref: string) => customer.payAgain(ledger.find(ref)),
    /** Reverses the payment, less its refunds. */
    reverse: (ref: string) => ledger.reverse(ledger.find(ref)),
    /** Refunds a payment in the merchant panel: an amount such as `10.50`, or the rest of the payment. */
    refund: (ref: string, amount?: string) =>
      simulatedRefund(ledger, refundInPanel(ledger, ledger.find(ref), amount)),
    /** Ends refunds in progress now. Returns their number. */
    finishRefunds: ledger.refunds.finish,
    /** Cancels a reversal. */
    standAgain: (ref: string) => ledger.standAgain(ledger.find(ref)),
    /** Sends a forged callback without the secret and waits for the response. */
    forge: (ref: string, claim: Outcome) => customer.forge(ledger.find(ref), claim),
    deliveries: callbacks.deliveries,
    idle: callbacks.idle,
    setLatency(ms: number) {
      conditions.latencyMs = ms;
    },
    /** Requests that followed a redirect; clients must not follow it. */
    followedRedirects: () => conditions.followedRedirects,
  };
}

function simulatedRefund({ refunds }: Ledger, refund: Refund): SimulatedRefund {
  const { id, proof, reference, amount, reason, createdAt, payment } = refund;
  const { gateway, merchantTransactionId, ref } = payment;
  const state = refunds.stateOf(refund);
  return { gateway, merchantTransactionId, ref, proof, id, reference, amount, state, reason, createdAt };
}

function simulated(payment: Payment): SimulatedPayment {
  const { gateway, merchantTransactionId, ref, proof, amount, state, executions, createdAt } = payment;
  return { gateway, merchantTransactionId, ref, proof, amount, state, executions, createdAt };
}
