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

/** The refunds that the provider reports of one payment of the session. */
export type ReportedRefunds = {
  readonly gatewayTransactionId: string;
  readonly refunds: readonly ProviderRefund[];
};

/** The provider does not have a refund if two answers, more than this apart, do not contain it. */
const MISSING_AFTER_MS = 60_000;

/**
 * Matches by the hub's reference, then by the provider's id. A refund without a reference then matches the
 * oldest refund of the same payment and amount whose answer was lost. A refund of the present payment that
 * matches none is new. A refund of an earlier payment that matches none is left out: the reversal took back
 * the whole payment. Each pending refund gets an update, so that its next check is scheduled.
 *
 * @param present The answer about the session's present payment.
 * @param earlier The answers about its earlier payments.
 */
export function matchRefunds(
  known: readonly StoredRefund[],
  { present, earlier }: { readonly present: ReportedRefunds; readonly earlier: readonly ReportedRefunds[] },
  at: Date,
): readonly RefundUpdate[] {
  const answers = [present, ...earlier];
  const found = answers.flatMap(({ gatewayTransactionId, refunds }) =>
    refunds.map((refund) => ({ ...refund, gatewayTransactionId })),
  );
  type Found = (typeof found)[number];
  const pairs = new Map<Found, StoredRefund>();
  const match = (isMatch: (refund: StoredRefund, other: Found) => boolean): void => {
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
      refund.gatewayTransactionId === other.gatewayTransactionId &&
      other.kind === 'refund' &&
      other.state !== 'failed' &&
      other.reference === undefined &&
      sameMoney(refund.amount, other.amount),
  );
  const matched = new Set(pairs.values());
  const isAnswered = ({ gatewayTransactionId }: StoredRefund): boolean =>
    answers.some((answer) => answer.gatewayTransactionId === gatewayTransactionId);
  return [
    ...found
      .filter((other) => pairs.has(other) || other.gatewayTransactionId === present.gatewayTransactionId)
      .flatMap((other) => updateOf(pairs.get(other), other) ?? []),
    ...known
      .filter((refund) => refund.state === 'pending' && !matched.has(refund))
      .map((refund) => (isAnswered(refund) ? updateMissing(refund, at) : unchanged(refund))),
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

function unchanged(refund: StoredRefund): RefundUpdate {
  return { before: refund, after: refund };
}

/** For a pending refund that the answer about its payment does not contain. */
function updateMissing(refund: StoredRefund, at: Date): RefundUpdate {
  if (!isAnswerLost(refund)) return unchanged(refund);
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
