// Matches the refunds that a provider reports with those that the hub knows. Pure: reads and writes nothing.
import { formatId } from '../../ids.ts';
import { formatMoney, sameMoney } from '../money.ts';
import type { ProviderRefund } from '../providers/driver.ts';
import type { StoredRefund } from './read-refunds.ts';

/** A refund after an answer of the provider. */
export type RefundUpdate = {
  /** Undefined for one that the hub did not know. */
  readonly before: StoredRefund | undefined;
  readonly after: Pick<StoredRefund, 'kind' | 'amount' | 'state' | 'stateReason' | 'gatewayRefundId'> & {
    /** Why an operator has to review it. */
    readonly question?: string | undefined;
    readonly missingSince?: Date | undefined;
    /** The provider surely has no such refund: request it again. */
    readonly isUnrequested?: true;
  };
};

/** The provider has no such refund if two answers lack it that are so far apart. */
const SURELY_MISSING_MS = 60_000;

/**
 * Matches by the hub's reference, then by the provider's id. A refund that names no reference of the hub may then
 * be one whose answer was lost: that of the same amount, the oldest first. Others are new.
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
    ...known.filter((refund) => !matched.has(refund)).flatMap((refund) => missing(refund, at) ?? []),
  ];
}

/** Undefined for a refund that changes nothing. */
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
    const question = `the provider reports ${formatMoney(amount)} instead of ${formatMoney(before.amount)}`;
    return { before, after: { ...after, amount, question } };
  }
  // The usage log has it and stays as it is. An operator decides what a late failure means.
  if (state !== 'failed' || before.stateReason === detail) return undefined;
  const question = `the provider reports that it failed after it had succeeded: ${detail}`;
  return { before, after: { ...before, stateReason: detail, question } };
}

/** The hub requested it, and does not know what became of it. */
function isAnswerLost({ origin, state, requestedAt, gatewayRefundId }: StoredRefund): boolean {
  return (
    origin === 'hub' && state === 'pending' && requestedAt !== undefined && gatewayRefundId === undefined
  );
}

function missing(refund: StoredRefund, at: Date): RefundUpdate | undefined {
  if (!isAnswerLost(refund)) return undefined;
  const { missingSince = at } = refund;
  const isSure = at.getTime() - missingSince.getTime() > SURELY_MISSING_MS;
  return {
    before: refund,
    after: isSure
      ? {
          ...refund,
          stateReason: 'the provider has no such refund: it is requested again',
          isUnrequested: true,
        }
      : { ...refund, stateReason: 'the provider has not reported it yet', missingSince },
  };
}
