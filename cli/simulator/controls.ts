// What can be done with a running simulator: press the customers' buttons, cause trouble, look at the provider's books.
import type { Callbacks, Delivery } from './callbacks.ts';
import type { Customer } from './customer.ts';
import type { Faults } from './faults.ts';
import type { Outage } from './front.ts';
import { type Ledger, mayDecide, type Outcome, type Payment } from './ledger.ts';
import type { Conditions } from './requests.ts';

/** Payments are named by the provider's id (session key, payment id) or by the merchant's transaction id. */
export type Controls = {
  readonly faults: Faults;
  payments(): readonly SimulatedPayment[];
  /** What proves each payment of a checkout of gateway_one, the first one first. @throws SimulatorError */
  proofs(ref: string): readonly string[];
  /** What moved and still stands, in minor units by currency. */
  totals(): Record<string, bigint>;
  /** The customer presses the button; callbacks go on their way. @throws SimulatorError */
  pay(ref: string): void;
  fail(ref: string): void;
  cancel(ref: string): void;
  /** Pays everything that is open. Answers how many those were. */
  payAll(): number;
  /** The customer authorizes with gateway_two and closes the tab: nobody is told. @throws SimulatorError */
  authorizeAndLeave(ref: string): void;
  /** The customer pays a second time what is paid; the callback goes on its way. @throws SimulatorError */
  payAgain(ref: string): void;
  /** The provider takes the money back. @throws SimulatorError */
  reverse(ref: string): void;
  /** The provider takes a reversal back: the payment stands again. @throws SimulatorError */
  standAgain(ref: string): void;
  /** Sends a callback that knows no secret; resolves once it was answered. @throws SimulatorError */
  forge(ref: string, claim: Outcome): Promise<void>;
  /** Attempts to deliver callbacks, the latest last. */
  deliveries(): readonly Delivery[];
  /** Resolves when no callback is under way: each was delivered, lost or given up. */
  idle(): Promise<void>;
  /** Every answer of a provider takes so much longer. */
  setLatency(ms: number): void;
  /** The providers cannot be reached for a while. */
  down(ms: number, how: Outage): void;
  /** Requests that followed a redirect, which nobody should. */
  followedRedirects(): number;
};

/** A payment as the provider knows it. */
export type SimulatedPayment = Readonly<
  Pick<
    Payment,
    'gateway' | 'merchantTransactionId' | 'ref' | 'proof' | 'amount' | 'state' | 'executions' | 'createdAt'
  >
>;

export type ControlsParts = {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly callbacks: Callbacks;
  readonly customer: Customer;
  readonly conditions: Conditions;
  readonly down: Controls['down'];
};

export function createControls(parts: ControlsParts): Controls {
  const { ledger, faults, callbacks, customer, conditions, down } = parts;
  return {
    faults,
    payments: () => ledger.payments().map(simulated),
    proofs: (ref) => ledger.find(ref).attempts.flatMap(({ proof }) => proof ?? []),
    totals: ledger.totals,
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

function simulated(payment: Payment): SimulatedPayment {
  const { gateway, merchantTransactionId, ref, proof, amount, state, executions, createdAt } = payment;
  return { gateway, merchantTransactionId, ref, proof, amount, state, executions, createdAt };
}
