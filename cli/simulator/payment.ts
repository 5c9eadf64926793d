// A payment at a simulated provider: the merchant's order, and the customer's decisions.
import type { Amount } from './amount.ts';

export type Gateway = 'gateway_one' | 'gateway_two' | 'stripe';

/**
 * The customer's decision on the checkout page. For gateway_two `paid` means authorized: execute moves the
 * money.
 */
export type Outcome = 'paid' | 'failed' | 'cancelled';

export type PaymentState =
  | 'initiated'
  | 'authorized'
  | 'paid'
  | 'failed'
  | 'cancelled'
  | 'reversed'
  /** The checkout was open too long. */
  | 'expired'
  /** The bank did not settle an authorized payment. */
  | 'declined';

/** One press of a button on the checkout page. */
export type Attempt = {
  readonly outcome: Outcome;
  /** gateway_one's val_id, Stripe's payment intent. A failure has none. */
  readonly proof: string | undefined;
  readonly bankId: string;
  readonly at: Date;
  /** Whether the merchant has validated it before. */
  validated: boolean;
};

export type Order = {
  readonly gateway: Gateway;
  /** Its `tran_id` or `merchantInvoiceNumber`. */
  readonly merchantTransactionId: string;
  readonly amount: Amount;
  readonly merchant: string;
  readonly description: string;
  /** Notification URL (gateway_one). */
  readonly notifyUrl: string | undefined;
  /** Return URLs of the customer's browser by outcome. */
  readonly returnUrls: Readonly<Record<Outcome, string>>;
  /** Fields that the provider returns unchanged. */
  readonly echo: Readonly<Record<string, string>>;
};

export type Payment = Order & {
  /** The provider's id: gateway_one's session key, gateway_two's payment id, Stripe's checkout session. */
  readonly ref: string;
  readonly createdAt: Date;
  readonly attempts: Attempt[];
  state: PaymentState;
  /** Id of the transfer: val_id, trxID or payment intent. */
  proof: string | undefined;
  /** Number of transfers. More than one would be a provider's mistake. */
  executions: number;
};

/** An invalid call of the simulator: an unknown payment, or a button that is not available. */
export class SimulatorError extends Error {
  override readonly name = 'SimulatorError';
}

/** @throws SimulatorError if the payment is in another state */
export function requireState({ ref, state }: Payment, wanted: PaymentState): void {
  if (state !== wanted) throw new SimulatorError(`payment ${ref} is ${state}, not ${wanted}`);
}

export function mayDecide({ gateway, state }: Payment): boolean {
  return (
    state === 'initiated' || (gateway !== 'gateway_two' && (state === 'failed' || state === 'cancelled'))
  );
}
