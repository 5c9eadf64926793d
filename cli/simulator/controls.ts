// Controls of a running simulator: press the customers' buttons, inject faults, read the provider's ledger.
import type { Callbacks, Delivery } from './callbacks.ts';
import type { Conditions } from './conditions.ts';
import type { Customer } from './customer.ts';
import type { Faults } from './faults.ts';
import type { Ledger } from './ledger.ts';
import { refundInPanel } from './merchant-panel.ts';
import { mayDecide, type Outcome, type Payment } from './payment.ts';
import type { Refund, RefundState } from './refunds.ts';
import type { Outage } from './simulator-port.ts';
import type { StripeControls } from './stripe/account.ts';

/** `ref` is the provider's id (session key, payment id) or the merchant's transaction id. */
export type Controls = {
  readonly faults: Faults;
  readonly stripe: StripeControls;
  payments(): readonly SimulatedPayment[];
  /**
   * Validation ids of a gateway_one checkout's payments, oldest first.
   * @throws SimulatorError
   */
  proofs(ref: string): readonly string[];
  /** Refunds of all payments, oldest first. */
  refunds(): readonly SimulatedRefund[];
  /** Payments less reversals, refunds and lost disputes, in minor units by currency. */
  totals(): Record<string, bigint>;
  /**
   * Presses a button as the customer and sends callbacks.
   * @throws SimulatorError
   */
  pay(ref: string): void;
  fail(ref: string): void;
  cancel(ref: string): void;
  /** Pays every open payment. Returns their number. */
  payAll(): number;
  /**
   * Authorizes with gateway_two as a customer who then closes the tab: no callback is sent.
   * @throws SimulatorError
   */
  authorizeAndLeave(ref: string): void;
  /**
   * Pays a paid payment again and sends the callback.
   * @throws SimulatorError
   */
  payAgain(ref: string): void;
  /**
   * Reverses the payment, less its refunds.
   * @throws SimulatorError
   */
  reverse(ref: string): void;
  /**
   * Refunds a payment in the merchant panel: an amount such as `10.50`, or the rest of the payment.
   * @throws SimulatorError
   */
  refund(ref: string, amount?: string): SimulatedRefund;
  /** Ends refunds in progress now. Returns their number. */
  finishRefunds(): number;
  /**
   * Cancels a reversal.
   * @throws SimulatorError
   */
  standAgain(ref: string): void;
  /**
   * Sends a forged callback without the secret and waits for the response.
   * @throws SimulatorError
   */
  forge(ref: string, claim: Outcome): Promise<void>;
  /** Delivery attempts, the latest last. */
  deliveries(): readonly Delivery[];
  /** Resolves when every callback has been delivered, lost or given up. */
  idle(): Promise<void>;
  /** Delays every provider response. */
  setLatency(ms: number): void;
  /** Makes the providers unreachable for a while. */
  down(ms: number, how: Outage): void;
  /** Requests that followed a redirect; clients must not follow it. */
  followedRedirects(): number;
};

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

export type ControlsParts = {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly callbacks: Callbacks;
  readonly customer: Customer;
  readonly conditions: Conditions;
  readonly down: Controls['down'];
  readonly stripe: StripeControls;
};

export function createControls(parts: ControlsParts): Controls {
  const { ledger, faults, callbacks, customer, conditions, down, stripe } = parts;
  return {
    faults,
    stripe,
    payments: () => ledger.payments().map(simulated),
    proofs: (ref) => ledger.find(ref).attempts.flatMap(({ proof }) => proof ?? []),
    refunds: () => ledger.refunds.all().map((refund) => simulatedRefund(ledger, refund)),
    totals() {
      const totals = ledger.totals();
      for (const { amount, status } of stripe.disputes()) {
        if (status === 'lost') totals[amount.currency] = (totals[amount.currency] ?? 0n) - amount.minor;
      }
      return totals;
    },
    pay: (ref) => customer.decide(ledger.find(ref), 'paid'),
    fail: (ref) => customer.decide(ledger.find(ref), 'failed'),
    cancel: (ref) => customer.decide(ledger.find(ref), 'cancelled'),
    payAll() {
      const open = ledger.payments().filter(mayDecide);
      for (const payment of open) customer.decide(payment, 'paid');
      return open.length;
    },
    authorizeAndLeave: (ref) => customer.authorizeAndLeave(ledger.find(ref)),
    payAgain: (ref) => customer.payAgain(ledger.find(ref)),
    reverse: (ref) => ledger.reverse(ledger.find(ref)),
    refund: (ref, amount) => simulatedRefund(ledger, refundInPanel(ledger, ledger.find(ref), amount)),
    finishRefunds: ledger.refunds.finish,
    standAgain: (ref) => ledger.standAgain(ledger.find(ref)),
    forge: (ref, claim) => customer.forge(ledger.find(ref), claim),
    deliveries: callbacks.deliveries,
    idle: callbacks.idle,
    setLatency(ms) {
      conditions.latencyMs = ms;
    },
    down,
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
