// The refunds of the simulated providers, requested by the merchant's program or made in the merchant panel.
import { randomBytes } from 'node:crypto';
import type { Amount } from './amount.ts';
import type { Fault } from './faults.ts';
import { type Payment, requireState, SimulatorError } from './payment.ts';
import type { Call, JsonAnswer, Operation } from './provider.ts';

export type RefundState = 'processing' | 'refunded' | 'cancelled';

export type Refund = {
  /** The provider's id: `refund_ref_id` or `refundTrxId`. */
  readonly id: string;
  readonly payment: Payment;
  /** Id of the refunded transfer: val_id or trxID. */
  readonly proof: string;
  /** The merchant's id: `refund_trans_id` or `sku`. Undefined for the merchant panel. */
  readonly reference: string | undefined;
  readonly amount: Amount;
  readonly reason: string;
  /** Stripe's metadata. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  /** The final state, and when it begins. Until then the refund is in progress. */
  readonly end: { state: 'refunded' | 'cancelled'; atMs: number };
};

export type RefundOrder = Pick<Refund, 'proof' | 'reference' | 'reason' | 'metadata'> & {
  /** Undefined: the rest of the payment. */
  readonly amount: Amount | undefined;
  /** How long the refund is in progress, and its final state. Default: refunded at once. */
  readonly progress?: { readonly ms: number; readonly end: 'refunded' | 'cancelled' } | undefined;
};

export type Refunds = ReturnType<typeof createRefunds>;

const SLOW_MS = 2_000;

/** The faults of an operation that `request` answers: it refuses a refund, or makes one that is in progress for a while. */
export function refundFaults(
  refused: JsonAnswer,
  request: (call: Call, progress: RefundOrder['progress']) => JsonAnswer,
): NonNullable<Operation['faults']> {
  const slowly = (call: Call, { kind, delayMs: ms = SLOW_MS }: Fault) =>
    request(call, { ms, end: kind === 'refund_cancelled' ? 'cancelled' : 'refunded' });
  return { refund_refused: () => refused, refund_slow: slowly, refund_cancelled: slowly };
}

export function createRefunds(now: () => number) {
  const byId = new Map<string, Refund>();
  const byPayment = new Map<Payment, Refund[]>();
  let onChange: (refund: Refund, isNew: boolean) => void = () => {};

  const of = (payment: Payment): readonly Refund[] => byPayment.get(payment) ?? [];
  const stateOf = ({ end }: Refund): RefundState => (now() < end.atMs ? 'processing' : end.state);
  const sum = (refunds: readonly Refund[]): bigint =>
    refunds.reduce((total, { amount }) => total + amount.minor, 0n);
  const ofProof = (payment: Payment, proof: string, ...states: readonly RefundState[]) =>
    of(payment).filter((refund) => refund.proof === proof && states.includes(stateOf(refund)));

  /** The rest of a transfer that can be refunded. */
  const left = (payment: Payment, proof: string): bigint =>
    payment.amount.minor - sum(ofProof(payment, proof, 'processing', 'refunded'));

  return {
    /** Calls `listener` for each refund that is made or ended. */
    onChange(listener: typeof onChange): void {
      onChange = listener;
    },

    of,
    stateOf,
    left,

    /** @throws SimulatorError if the payment is not paid, or less than the amount is left */
    make(payment: Payment, { amount, progress, ...order }: RefundOrder): Refund {
      requireState(payment, 'paid');
      const rest = left(payment, order.proof);
      const requested = amount ?? { minor: rest, currency: payment.amount.currency };
      if (requested.currency !== payment.amount.currency || requested.minor <= 0n || requested.minor > rest) {
        throw new SimulatorError(
          `the refund is larger than the rest of payment ${payment.ref}, or not in its currency`,
        );
      }
      const createdAt = new Date(now());
      const end = { state: progress?.end ?? 'refunded', atMs: createdAt.getTime() + (progress?.ms ?? 0) };
      const id = `${payment.gateway === 'stripe' ? 're_' : 'RF'}${randomBytes(8).toString('hex').toUpperCase()}`;
      const refund = { ...order, id, payment, amount: requested, createdAt, end };
      byId.set(id, refund);
      byPayment.set(payment, [...of(payment), refund]);
      onChange(refund, true);
      return refund;
    },

    byId: (id: string) => byId.get(id),
    byReference: (payment: Payment, reference: string) =>
      of(payment).find((refund) => refund.reference === reference),

    /** Oldest first. */
    all: (): readonly Refund[] => [...byId.values()],

    /** Ends refunds in progress now. Returns their number. */
    finish(): number {
      const open = [...byId.values()].filter((refund) => stateOf(refund) === 'processing');
      for (const refund of open) {
        refund.end.atMs = now();
        onChange(refund, false);
      }
      return open.length;
    },

    isInProgress: (payment: Payment) => of(payment).some((refund) => stateOf(refund) === 'processing'),

    /** The sum of the refunds that were made. */
    refundedMinor: (payment: Payment): bigint =>
      sum(of(payment).filter((refund) => stateOf(refund) === 'refunded')),

    /** Whether a transfer was refunded in full. */
    isRefunded: (payment: Payment, proof: string): boolean =>
      sum(ofProof(payment, proof, 'refunded')) >= payment.amount.minor,
  };
}
