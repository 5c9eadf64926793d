// The refunds that a provider reports: their sum, and the outcome of a step by the state of a refund.
import type { ProviderRefund, SettledPayment, VerificationStep } from './driver.ts';

/**
 * Whether the refunds that did not fail cover the whole payment: the payment is then refunded rather than
 * reversed.
 */
export function isCovered({ amount }: SettledPayment, refunds: readonly ProviderRefund[]): boolean {
  return refundedMinor(refunds) >= amount.minor;
}

/** The sum of the refunds that did not fail. */
export function refundedMinor(refunds: readonly ProviderRefund[]): bigint {
  return refunds.reduce((sum, { state, amount }) => (state === 'failed' ? sum : sum + amount.minor), 0n);
}

const REFUND_OUTCOMES = {
  pending: 'pending',
  succeeded: 'refunded',
  failed: 'not_refunded',
} as const satisfies Record<ProviderRefund['state'], VerificationStep['outcome']>;

/** The outcome to record for a request or query about one refund. */
export function describeRefund(refund: ProviderRefund): Pick<VerificationStep, 'outcome' | 'detail'> {
  return { outcome: REFUND_OUTCOMES[refund.state], detail: refund.detail };
}
