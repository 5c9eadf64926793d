// Compares the hub's refunds with the provider's, to the minor unit, and reports every difference.
import type { SimulatedPayment, SimulatedRefund } from '../../../cli/simulator/controls.ts';
import { query } from '../../support/postgres/databases.ts';

export type BookedRefund = {
  readonly session: string;
  readonly gateway: string;
  readonly origin: 'hub' | 'provider';
  readonly state: 'pending' | 'succeeded' | 'failed';
  readonly minor: string;
  readonly gatewayRefundId: string | null;
  readonly reason: string;
  /** The amount of its usage log entry, which is negative. Null if it has none. */
  readonly usageMinor: string | null;
};

export function readRefunds(databaseUrl: string): Promise<BookedRefund[]> {
  return query<BookedRefund>(
    databaseUrl,
    `select c.merchant_transaction_id as session, r.gateway, r.origin, r.state, r.amount_minor as minor,
            r.gateway_refund_id as "gatewayRefundId", r.state_reason as reason, u.amount_minor as "usageMinor"
     from refund r join charge_session c on c.id = r.session_id left join usage_log u on u.id = r.id`,
  );
}

/** Whether the provider's queries report the refund: gateway_one knows nothing of the merchant panel. */
function isReported({ gateway, reference }: SimulatedRefund): boolean {
  return gateway === 'gateway_two' || reference !== undefined;
}

/** Whether the provider reports the payment as reversed: it was, or refunds that it does not report took all of it. */
export function isTakenAway(payment: SimulatedPayment, refunds: readonly SimulatedRefund[]): boolean {
  if (payment.state === 'reversed') return true;
  const isHidden = madeOf(payment, refunds).some((refund) => !isReported(refund));
  return isHidden && refundedOf(payment, refunds) >= payment.amount.minor;
}

/** The sum of the refunds of a payment. */
export function refundedOf(payment: SimulatedPayment, refunds: readonly SimulatedRefund[]): bigint {
  return madeOf(payment, refunds).reduce((total, { amount }) => total + amount.minor, 0n);
}

function madeOf({ ref }: SimulatedPayment, refunds: readonly SimulatedRefund[]): SimulatedRefund[] {
  return refunds.filter((refund) => refund.ref === ref && refund.state === 'refunded');
}

/**
 * The violated rules: no refund is open, and each one of the provider is one of the hub with the same amount and one
 * usage log entry. A reversal may come before the hub knows of a refund; then it takes that amount too.
 */
export function refundTrouble(
  booked: readonly BookedRefund[],
  refunds: readonly SimulatedRefund[],
  payments: readonly SimulatedPayment[],
): string[] {
  const byPayment = new Map(payments.map((payment) => [payment.ref, payment]));
  const made = refunds.filter(({ state }) => state === 'refunded');
  const succeeded = Map.groupBy(
    booked.filter(({ state }) => state === 'succeeded'),
    ({ gatewayRefundId }) => gatewayRefundId,
  );
  const ids = new Set(made.map(({ id }) => id));
  return [
    ...booked
      .filter(({ state }) => state === 'pending')
      .map(({ session, reason }) => `a refund of session ${session} is still pending: ${reason}`),
    ...refunds
      .filter(({ state }) => state === 'processing')
      .map(({ id }) => `refund ${id} is still in progress at the provider`),
    ...booked
      .filter(({ state, gatewayRefundId }) => state === 'succeeded' && !ids.has(gatewayRefundId ?? ''))
      .map(
        ({ session, gatewayRefundId }) =>
          `session ${session} has a refund ${gatewayRefundId} that was not made`,
      ),
    ...booked
      .filter(({ state, usageMinor }) => (state === 'succeeded') !== (usageMinor !== null))
      .filter(({ session }) => !isReversedSession(session, payments))
      .map(
        ({ session, state, usageMinor }) =>
          `a refund of session ${session} is ${state}, with ${usageMinor} in the log`,
      ),
    ...made.flatMap((refund) => {
      const payment = byPayment.get(refund.ref);
      if (payment === undefined || isTakenAway(payment, refunds)) return [];
      const rows = succeeded.get(refund.id) ?? [];
      const [row] = rows;
      const isRight =
        rows.length === 1 && row?.minor === `${refund.amount.minor}` && row.usageMinor === `-${row.minor}`;
      return isRight
        ? []
        : [`refund ${refund.id} of ${refund.amount.minor} is in the hub as ${JSON.stringify(rows)}`];
    }),
  ];
}

function isReversedSession(session: string, payments: readonly SimulatedPayment[]): boolean {
  return payments.some(
    ({ merchantTransactionId, state }) => merchantTransactionId === session && state === 'reversed',
  );
}

/** What the provider's refunds took from its standing payments, as negative amounts. */
export function refundedAmounts(
  refunds: readonly SimulatedRefund[],
  payments: readonly SimulatedPayment[],
): { minor: bigint; currency: string }[] {
  const standing = new Set(payments.filter(({ state }) => state === 'paid').map(({ ref }) => ref));
  return refunds
    .filter(({ ref, state }) => state === 'refunded' && standing.has(ref))
    .map(({ amount }) => ({ minor: -amount.minor, currency: amount.currency }));
}
