// The providers' ledger: orders, customers' decisions, payments and refunds.
import { randomBytes } from 'node:crypto';
import {
  type Attempt,
  type Gateway,
  mayDecide,
  type Order,
  type Outcome,
  type Payment,
  requireState,
  SimulatorError,
} from './payment.ts';
import { createRefunds } from './refunds.ts';

export type Ledger = ReturnType<typeof createLedger>;

/** Limit of payments, which are kept in memory. */
const MAX_PAYMENTS = 200_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createLedger(now: () => number) {
  const byRef = new Map<string, Payment>();
  const byMerchantId = new Map<string, Payment[]>();
  const byProof = new Map<string, { readonly payment: Payment; readonly attempt: Attempt }>();
  const byBankId = new Map<string, { readonly payment: Payment; readonly proof: string }>();
  const refunds = createRefunds(now);

  const ofMerchant = (gateway: Gateway, merchantTransactionId: string): readonly Payment[] =>
    (byMerchantId.get(merchantTransactionId) ?? []).filter((payment) => payment.gateway === gateway);

  const keep = (payment: Payment, attempt: Attempt, proof: string): void => {
    byProof.set(proof, { payment, attempt });
    byBankId.set(attempt.bankId, { payment, proof });
  };

  return {
    refunds,

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

    /** Presses a button as the customer. A failed or cancelled checkout may be retried, except with gateway_two. */
    decide(payment: Payment, outcome: Outcome): Attempt {
      requireOpen(payment);
      const proof = outcome === 'paid' && payment.gateway !== 'gateway_two' ? proofOf(payment) : undefined;
      const attempt = { outcome, proof, bankId: newProof(), at: new Date(now()), validated: false };
      payment.attempts.push(attempt);
      if (proof === undefined) payment.state = outcome === 'paid' ? 'authorized' : outcome;
      else {
        keep(payment, attempt, proof);
        moveMoney(payment, proof);
      }
      return attempt;
    },

    /** Completes the checkout; `execute` moves the money later. */
    authorize(payment: Payment): void {
      requireOpen(payment);
      payment.state = 'authorized';
    },

    /** Captures an authorized payment; false if there is nothing to capture. */
    execute(payment: Payment): boolean {
      if (payment.state !== 'authorized') return false;
      moveMoney(payment, proofOf(payment));
      return true;
    },

    /**
     * Pays a paid payment again: gateway_one takes another attempt, gateway_two another payment with the same
     * invoice. The money moves immediately. Returns the subject of the callback.
     */
    payAgain(payment: Payment): { readonly payment: Payment; readonly attempt: Attempt } {
      requireState(payment, 'paid');
      if (payment.gateway === 'stripe')
        throw new SimulatorError('Stripe takes one payment for each checkout');
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
        keep(payment, attempt, proof);
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

    /** Takes back what was not refunded. */
    reverse(payment: Payment): void {
      const { ref, proof = '' } = payment;
      requireState(payment, 'paid');
      if (refunds.isInProgress(payment)) throw new SimulatorError(`payment ${ref} has a refund in progress`);
      if (refunds.isRefunded(payment, proof)) throw new SimulatorError(`payment ${ref} is refunded`);
      payment.state = 'reversed';
    },

    standAgain(payment: Payment): void {
      requireState(payment, 'reversed');
      payment.state = 'paid';
    },

    byRef: (ref: string) => byRef.get(ref),
    byProof: (proof: string) => byProof.get(proof),
    byBankId: (bankId: string) => byBankId.get(bankId),
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

    /** Payments less reversals and refunds, in minor units by currency. */
    totals(): Record<string, bigint> {
      const totals = new Map<string, bigint>();
      for (const payment of byRef.values()) {
        const { state, amount, executions } = payment;
        const moved = amount.minor * BigInt(executions) - refunds.refundedMinor(payment);
        if (state === 'paid') totals.set(amount.currency, (totals.get(amount.currency) ?? 0n) + moved);
      }
      return Object.fromEntries(totals);
    },
  };
}

function requireOpen(payment: Payment): void {
  if (mayDecide(payment)) return;
  throw new SimulatorError(`payment ${payment.ref} is ${payment.state}: its checkout is closed`);
}

function moveMoney(payment: Payment, proof: string): void {
  payment.state = 'paid';
  payment.proof = proof;
  payment.executions += 1;
}

/** Stripe has one payment intent for each checkout session. */
function proofOf({ gateway, ref }: Payment): string {
  return gateway === 'stripe' ? `pi_${ref.slice('cs_'.length)}` : newProof();
}

/** Unguessable, and unique across restarts: merchants refuse a validation id that they have seen. */
function newProof(): string {
  return randomBytes(10).toString('hex').toUpperCase();
}
