// Requests a stored refund from its provider, under the verification lease of the session.
//
// The hub commits that it sends the request before it sends it. If the hub dies afterwards, the refund stays
// pending, and the next check finds out whether the provider made it.
import { formatId } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import {
  type ProviderAccess,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
  type RefundCalls,
  type SettledPayment,
  type VerificationStep,
} from '../providers/driver.ts';
import { lockSession, type StoredSession } from '../sessions/read-sessions.ts';
import { recordSteps } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { ProviderConcurrency } from '../slots/provider-connections.ts';
import { isFenced, type VerificationLease } from '../verification/lease.ts';
import { type RefundUpdate, updateOf } from './match-refunds.ts';
import { readSessionRefunds, type StoredRefund } from './read-refunds.ts';
import { type RecordOptions, recordRefunds } from './record-refunds.ts';

export type RequestOptions = PaymentDependencies &
  RecordOptions & {
    readonly concurrency: ProviderConcurrency;
    /** Milliseconds after which the hub checks a refund whose request it did not finish. */
    readonly leaseMs: number;
  };

export type OpenedProvider = {
  readonly refunds: RefundCalls;
  readonly access: ProviderAccess;
  /** The calls so far. */
  readonly steps: VerificationStep[];
};

/** The review reason of a refused repetition: some providers do not report a refund whose answer was lost. */
const REPETITION_REFUSED =
  'the provider refused a repeated request: look in its merchant panel whether it accepted an earlier one';

/** The review reason of a refund that fails although an earlier request may have been accepted. */
const REPETITION_IMPOSSIBLE =
  'the hub cannot request it again: ' +
  'look in the merchant panel whether the provider accepted an earlier request';

/**
 * Resolves when the answer, or that there is none, is recorded. Requests nothing if the lease is lost, and
 * leaves the refund unrequested if the provider has no free place or the lease expires soon.
 */
export async function requestRefund(
  options: RequestOptions,
  lease: VerificationLease,
  { refunds, access, steps }: OpenedProvider,
  refund: StoredRefund,
): Promise<void> {
  const { concurrency } = options;
  const { session } = lease;
  const call = async (): Promise<ProviderRefund | undefined> => {
    if (!(await markRequested(options, lease, refund))) return undefined;
    return refunds.request(access, {
      payment: paymentOf(session),
      reference: formatId('rfd', refund.id),
      amount: refund.amount,
      reason: refund.reason,
      isRepeated: refund.requests > 0,
    });
  };
  const answer = await concurrency.run(session.slot, call).catch((error: unknown) => {
    if (error instanceof ProviderRefused || error instanceof ProviderUnavailable) return error;
    throw error;
  });
  if (answer === undefined) return;
  await recordAnswer(options, session, refund, answer, steps.splice(0));
}

/**
 * Resolves with false if the refund must not be requested. Sets a refund that is no longer possible to
 * failed.
 * @throws ProviderUnavailable if the lease expires too soon for the request
 */
function markRequested(
  options: RequestOptions,
  { session: { id: sessionId }, fence, requireTimeLeft }: VerificationLease,
  refund: StoredRefund,
): Promise<boolean> {
  const at = options.clock();
  return inTransaction(options.pool, async (client, send) => {
    const session = await lockSession(client, sessionId);
    if (session === undefined || isFenced({ fence }, session)) return false;
    const problem = problemOf(session, refund);
    if (problem !== undefined) {
      const reviewReason = refund.requests > 0 ? REPETITION_IMPOSSIBLE : undefined;
      const after = { ...refund, state: 'failed', stateReason: problem, reviewReason } as const;
      await recordRefunds(client, send, session, [{ before: refund, after }], { ...options, at });
      return false;
    }
    // Checked here because the wait for the session uses up the lease.
    requireTimeLeft();
    send({
      name: 'mark_refund_requested',
      // refund_pkey
      text: `update refund
             set requested_at = $2, requests = requests + 1, next_check_at = $3, missing_since = null
             where id = $1 and state = 'pending' and requested_at is null`,
      values: [refund.id, at, new Date(at.getTime() + options.leaseMs)],
    });
    return true;
  });
}

/** Why the refund is not possible anymore: its payment may have changed since it was stored. */
function problemOf(
  { status, gatewayTransactionId, amount, refundedMinor }: StoredSession,
  refund: StoredRefund,
): string | undefined {
  if (status !== 'success') return 'the payment was reversed before the refund was requested';
  if (refund.gatewayTransactionId !== gatewayTransactionId)
    return 'the session was paid by another payment since';
  if (refund.amount.minor > amount.minor - refundedMinor) return 'other refunds left less of the payment';
  return undefined;
}

async function recordAnswer(
  options: RequestOptions,
  { id: sessionId }: StoredSession,
  { id }: StoredRefund,
  answer: ProviderRefund | ProviderRefused | ProviderUnavailable,
  steps: readonly VerificationStep[],
): Promise<void> {
  const { pool, clock } = options;
  await inTransaction(pool, async (client, send) => {
    const session = await lockSession(client, sessionId);
    if (steps.length > 0) send(recordSteps([{ sessionId, callbackIds: [], steps }]));
    // Another hub may have found it since, if this one lost its lease.
    const refund = (await readSessionRefunds(client, sessionId)).find((each) => each.id === id);
    if (session === undefined || refund?.state !== 'pending' || refund.gatewayRefundId !== undefined) return;
    const update = updateFromAnswer(refund, answer);
    if (update === undefined) return;
    await recordRefunds(client, send, session, [update], { ...options, at: clock() });
  });
}

function updateFromAnswer(
  refund: StoredRefund,
  answer: ProviderRefund | ProviderRefused | ProviderUnavailable,
): RefundUpdate | undefined {
  if (answer instanceof ProviderRefused) {
    const reviewReason = refund.requests > 1 ? REPETITION_REFUSED : undefined;
    return {
      before: refund,
      after: { ...refund, state: 'failed', stateReason: answer.message, reviewReason },
    };
  }
  if (answer instanceof ProviderUnavailable) {
    const isRequested = refund.requestedAt !== undefined;
    const problem = isRequested ? 'the provider has not answered' : 'the hub could not send the request';
    const stateReason = `${problem}: ${answer.message}`;
    return { before: refund, after: { ...refund, stateReason } };
  }
  return updateOf(refund, answer);
}

/** The present payment of a paid session, or the last one of a session whose payment was reversed. */
export function paymentOf(session: StoredSession): SettledPayment {
  const { merchantTransactionId, providerPaymentId = '', gatewayTransactionId = '' } = session;
  const { bankTransactionId, amount } = session;
  return {
    merchantTransactionId,
    providerPaymentId,
    gatewayTransactionId,
    ...(bankTransactionId !== undefined && { bankTransactionId }),
    amount,
  };
}

/** A payment that paid the session before the present one. The session no longer stores its bank's id. */
export function earlierPaymentOf(session: StoredSession, gatewayTransactionId: string): SettledPayment {
  const { bankTransactionId: _, ...payment } = paymentOf(session);
  return { ...payment, gatewayTransactionId };
}
