// The providers' ledger: orders, customers' decisions and payments.
import { randomBytes } from 'node:crypto';
import type { Amount } from './amount.ts';

export type Gateway = 'gateway_one' | 'gateway_two';

/**
 * The customer's decision on the checkout page. For gateway_two `paid` means authorized: execute moves the
 * money.
 */
export type Outcome = 'paid' | 'failed' | 'cancelled';

export type PaymentState = 'initiated' | 'authorized' | 'paid' | 'failed' | 'cancelled' | 'reversed';

/** One press of a button on the checkout page. */
export type Attempt = {
  readonly outcome: Outcome;
  /** gateway_one's val_id. A failure has none. */
  readonly proof: string | undefined;
  readonly bankId: string;
  readonly at: Date;
  /** Whether the merchant has validated it before. */
  validated: boolean;
};

/** The merchant's order. */
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
  /** The provider's id: gateway_one's session key, gateway_two's payment id. */
  readonly ref: string;
  readonly createdAt: Date;
  readonly attempts: Attempt[];
  state: PaymentState;
  /** Id of the transfer: val_id or trxID. */
  proof: string | undefined;
  /** Number of transfers. More than one would be a provider's mistake. */
  executions: number;
};

/** An invalid call of the simulator: an unknown payment, or a button that is not available. */
export class SimulatorError extends Error {
  override readonly name = 'SimulatorError';
}

export type Ledger = ReturnType<typeof createLedger>;

/** Limit of payments, which are kept in memory. */
const MAX_PAYMENTS = 200_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createLedger(now: () => number) {
  const byRef = new Map<string, Payment>();
  const byMerchantId = new Map<string, Payment[]>();
  const byProof = new Map<string, { readonly payment: Payment; readonly attempt: Attempt }>();

  const ofMerchant = (gateway: Gateway, merchantTransactionId: string): readonly Payment[] =>
    (byMerchantId.get(merchantTransactionId) ?? []).filter((payment) => payment.gateway === gateway);

  return {
    open(order: Order, ref: string): Payment {
      if (byRef.size >= MAX_PAYMENTS)
        throw new SimulatorError(`the simulator holds ${MAX_PAYMENTS} payments`);
      const payment: Payment = {
        ...order,
        ref,
        createdAt: new Date(now()),
        attempts: [],
        state: 'initiated',
        proof: undefined,
        executions: 0,
      };
      byRef.set(ref, payment);
      byMerchantId.set(order.merchantTransactionId, [
        ...(byMerchantId.get(order.merchantTransactionId) ?? []),
        payment,
      ]);
      return payment;
    },

    /** Presses a button as the customer. A failed or cancelled checkout of gateway_one may be retried. */
    decide(payment: Payment, outcome: Outcome): Attempt {
      if (!mayDecide(payment)) {
        throw new SimulatorError(`payment ${payment.ref} is ${payment.state}: its checkout is closed`);
      }
      const proof = outcome === 'paid' && payment.gateway === 'gateway_one' ? newProof() : undefined;
      const attempt = { outcome, proof, bankId: newProof(), at: new Date(now()), validated: false };
      payment.attempts.push(attempt);
      if (proof === undefined) payment.state = outcome === 'paid' ? 'authorized' : outcome;
      else {
        byProof.set(proof, { payment, attempt });
        moveMoney(payment, proof);
      }
      return attempt;
    },

    /** Captures an authorized payment; false if there is nothing to capture. */
    execute(payment: Payment): boolean {
      if (payment.state !== 'authorized') return false;
      moveMoney(payment, newProof());
      return true;
    },

    /**
     * Pays a paid payment again: gateway_one takes another attempt, gateway_two another payment with the same
     * invoice. The money moves immediately. Returns the subject of the callback.
     */
    payAgain(payment: Payment): { readonly payment: Payment; readonly attempt: Attempt } {
      if (payment.state !== 'paid')
        throw new SimulatorError(`payment ${payment.ref} is ${payment.state}, not paid`);
      const proof = newProof();
      const attempt = {
        outcome: 'paid' as const,
        proof: payment.gateway === 'gateway_one' ? proof : undefined,
        bankId: newProof(),
        at: new Date(now()),
        validated: false,
      };
      if (payment.gateway === 'gateway_one') {
        payment.attempts.push(attempt);
        payment.executions += 1;
        byProof.set(proof, { payment, attempt });
        return { payment, attempt };
      }
      const ref = `TR${newProof()}`;
      const { gateway, merchantTransactionId, amount, merchant, description, notifyUrl, echo } = payment;
      const returnUrls = Object.fromEntries(
        Object.entries(payment.returnUrls).map(([outcome, url]) => [
          outcome,
          url.replaceAll(payment.ref, ref),
        ]),
      ) as Order['returnUrls']; // the same names
      const order = { gateway, merchantTransactionId, amount, merchant, description, notifyUrl, echo };
      const second = this.open({ ...order, returnUrls }, ref);
      second.attempts.push(attempt);
      moveMoney(second, proof);
      return { payment: second, attempt };
    },

    reverse(payment: Payment): void {
      if (payment.state !== 'paid')
        throw new SimulatorError(`payment ${payment.ref} is ${payment.state}, not paid`);
      payment.state = 'reversed';
    },

    standAgain(payment: Payment): void {
      if (payment.state !== 'reversed')
        throw new SimulatorError(`payment ${payment.ref} is ${payment.state}, not reversed`);
      payment.state = 'paid';
    },

    byRef: (ref: string) => byRef.get(ref),
    byProof: (proof: string) => byProof.get(proof),
    ofMerchant,

    /**
     * Finds a payment by the provider's id or the merchant's, the latest of the latter.
     * @throws SimulatorError
     */
    find(ref: string): Payment {
      const payment = byRef.get(ref) ?? byMerchantId.get(ref)?.at(-1);
      if (payment === undefined) throw new SimulatorError(`unknown payment ${JSON.stringify(ref)}`);
      return payment;
    },

    /** Oldest first. */
    payments: (): readonly Payment[] => [...byRef.values()],

    /** Payments less reversals, in minor units by currency. */
    totals(): Record<string, bigint> {
      const totals = new Map<string, bigint>();
      for (const { state, amount, executions } of byRef.values()) {
        const moved = amount.minor * BigInt(executions);
        if (state === 'paid') totals.set(amount.currency, (totals.get(amount.currency) ?? 0n) + moved);
      }
      return Object.fromEntries(totals);
    },
  };
}

export function mayDecide({ gateway, state }: Payment): boolean {
  return (
    state === 'initiated' || (gateway === 'gateway_one' && (state === 'failed' || state === 'cancelled'))
  );
}

function moveMoney(payment: Payment, proof: string): void {
  payment.state = 'paid';
  payment.proof = proof;
  payment.executions += 1;
}

/** Unguessable, and unique across restarts: merchants refuse a validation id that they have seen. */
function newProof(): string {
  return randomBytes(10).toString('hex').toUpperCase();
}
