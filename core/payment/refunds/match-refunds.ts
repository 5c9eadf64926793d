// Matches the refunds that a provider reports with the stored refunds of a session. Pure: reads and writes
// nothing.
import { formatId } from '../../ids.ts';
import { formatMoney, sameMoney } from '../money.ts';
import type { ProviderRefund } from '../providers/driver.ts';
import type { StoredRefund } from './read-refunds.ts';

/** How an answer of the provider changes a refund. */
export type RefundUpdate = {
  /** Undefined for a refund that the hub has not stored yet. */
  readonly before: StoredRefund | undefined;
  readonly after: Pick<StoredRefund, 'kind' | 'amount' | 'state' | 'stateReason' | 'gatewayRefundId'> & {
    /** Why an operator has to review it. */
    readonly reviewReason?: string | undefined;
    /** Whether it is reviewed because it pays for some of the licenses of an order. */
    readonly reviewsPart?: true;
    readonly missingSince?: Date | undefined;
    /** The provider does not have the refund: request it again. */
    readonly requestAgain?: true;
  };
};

/** The provider does not have a refund if two answers, more than this apart, do not contain it. */
const MISSING_AFTER_MS = 60_000;

/**
 * Matches by the hub's reference, then by the provider's id. A refund without a reference then matches the
 * oldest refund of the same amount whose answer was lost. A refund that matches none is new.
 */
export function matchRefunds(
  known: readonly StoredRefund[],
  found: readonly ProviderRefund[],
  at: Date,
): readonly RefundUpdate[] {
  const pairs = new Map<ProviderRefund, StoredRefund>();
  const match = (isMatch: (refund: StoredRefund, other: ProviderRefund) => boolean): void => {
    for (const other of found) {
      if (pairs.has(other)) continue;
      const taken = new Set(pairs.values());
      const refund = known.find((each) => !taken.has(each) && isMatch(each, other));
      if (refund !== undefined) pairs.set(other, refund);
    }
  };
  match(({ id }, { reference }) => reference === formatId('rfd', id));
  match(({ gatewayRefundId }, other) => gatewayRefundId === other.gatewayRefundId);
  match(
    (refund, other) =>
      isAnswerLost(refund) &&
      other.kind === 'refund' &&
      other.state !== 'failed' &&
      other.reference === undefined &&
      sameMoney(refund.amount, other.amount),
  );
  const matched = new Set(pairs.values());
  return [
    ...found.flatMap((other) => updateOf(pairs.get(other), other) ?? []),
    ...known.filter((refund) => !matched.has(refund)).flatMap((refund) => updateMissing(refund, at) ?? []),
  ];
}

/** Undefined if the report changes nothing. */
export function updateOf(before: StoredRefund | undefined, found: ProviderRefund): RefundUpdate | undefined {
  const { kind, amount, state, detail, gatewayRefundId } = found;
  if (before === undefined) {
    if (state === 'failed') return undefined;
    return { before, after: { kind, amount, state, stateReason: detail, gatewayRefundId } };
  }
  if (before.state === 'failed' && state === 'failed') return undefined;
  const after = { kind, state, stateReason: detail, gatewayRefundId };
  if (before.state !== 'succeeded') {
    if (sameMoney(before.amount, amount)) return { before, after: { ...after, amount } };
    const expected = formatMoney(before.amount);
    const reviewReason = `the provider reports ${formatMoney(amount)} instead of ${expected}`;
    return { before, after: { ...after, amount, reviewReason } };
  }
  // The usage log has its entry, which never changes. An operator decides about a late failure.
  if (state !== 'failed' || before.stateReason === detail) return undefined;
  const reviewReason = `the provider reports that it failed after it had succeeded: ${detail}`;
  return { before, after: { ...before, stateReason: detail, reviewReason } };
}

/** The hub requested it, and the provider has not answered. */
function isAnswerLost({ origin, state, requestedAt, gatewayRefundId }: StoredRefund): boolean {
  return (
    origin === 'hub' && state === 'pending' && requestedAt !== undefined && gatewayRefundId === undefined
  );
}

function updateMissing(refund: StoredRefund, at: Date): RefundUpdate | undefined {
  if (!isAnswerLost(refund)) return undefined;
  const { missingSince = at } = refund;
  const isSure = at.getTime() - missingSince.getTime() > MISSING_AFTER_MS;
  return {
    before: refund,
    after: isSure
      ? {
          ...refund,
          stateReason: 'the provider has no such refund: it is requested again',
          requestAgain: true,
        }
      : { ...refund, stateReason: 'the provider has not reported it yet', missingSince },
  };
}
