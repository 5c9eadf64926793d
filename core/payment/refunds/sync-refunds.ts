// Synchronizes the refunds of a session with its provider: requests those that are not requested yet, asks
// the provider for all refunds of the payment, and for pending ones of earlier payments, and records the
// answers. CreateRefund, the refund sweep and rechecks use it.
import type { Pool } from 'pg';
import { formatId } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { finishCallbacks } from '../callbacks/journaled-callbacks.ts';
import { ProviderUnavailable, type SettledPayment, type VerificationStep } from '../providers/driver.ts';
import { lockSession } from '../sessions/read-sessions.ts';
import { recordSteps } from '../settlement/write-settlement.ts';
import type { Providers } from '../slots/provider-connections.ts';
import { isFenced, type VerificationLease, type VerificationLeases } from '../verification/lease.ts';
import { endLease } from '../verification/take-and-end-lease.ts';
import { matchRefunds, type ReportedRefunds } from './match-refunds.ts';
import { readSessionRefunds, type StoredRefund } from './read-refunds.ts';
import { recordRefunds } from './record-refunds.ts';
import {
  earlierPaymentOf,
  type OpenedProvider,
  paymentOf,
  type RequestOptions,
  requestRefund,
} from './request-refund.ts';

export type RefundSync =
  /** `isReversed`: the provider reports the whole payment as reversed. Verify the session then. */
  | { readonly kind: 'synced'; readonly isReversed: boolean }
  /** The provider did not answer about the refunds of the payment. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The verification lease is taken. */
  | { readonly kind: 'busy' }
  /** The session has no payment and no pending refund, or the hub cannot refund payments of its gateway. */
  | { readonly kind: 'nothing' };

export type SyncOptions = RequestOptions & {
  readonly leases: VerificationLeases;
  readonly providers: Providers;
};

export type SyncRefunds = ReturnType<typeof createSyncRefunds>;

export function createSyncRefunds(options: SyncOptions) {
  const run = async (sessionId: string, waitMs: number, findsAll: boolean): Promise<RefundSync> => {
    const work = (lease: VerificationLease) => syncUnderLease(options, lease, findsAll);
    return (await options.leases.run(sessionId, { work, waitMs })) ?? { kind: 'busy' };
  };
  return {
    /** Requests the refunds that are not requested yet, and asks for all refunds of the payment. */
    sync: (sessionId: string, waitMs = 0) => run(sessionId, waitMs, true),
    /** Only requests the refunds that are not requested yet. */
    request: (sessionId: string, waitMs: number) => run(sessionId, waitMs, false),
  };
}

async function syncUnderLease(
  options: SyncOptions,
  lease: VerificationLease,
  findsAll: boolean,
): Promise<RefundSync> {
  const { pool } = options;
  const { session } = lease;
  const refunds = await readSessionRefunds(pool, session.id);
  const hasPending = refunds.some(({ state }) => state === 'pending');
  if (session.status !== 'success' && !hasPending) return { kind: 'nothing' };
  const provider = await openProvider(options, lease);
  if (provider === undefined) return { kind: 'nothing' };
  for (const refund of refunds.filter(isUnrequested)) {
    await requestRefund(options, lease, provider, refund);
  }
  if (!findsAll) return { kind: 'synced', isReversed: false };
  // Before the provider call: its answer may be older than a callback that arrives during the call.
  const callbacks = session.status === 'success' ? await readWaitingCallbacks(pool, session.id) : [];
  const found = await findRefunds(options, lease, provider);
  if ('reason' in found) return { kind: 'unavailable', reason: found.reason };
  return recordAnswer(options, lease, { ...found, steps: provider.steps, callbacks });
}

function isUnrequested({ origin, state, requestedAt }: StoredRefund): boolean {
  return origin === 'hub' && state === 'pending' && requestedAt === undefined;
}

/** Undefined if the hub cannot refund payments of the gateway. */
async function openProvider(
  { providers }: SyncOptions,
  { session: { slotId, customer }, limitHttp }: VerificationLease,
): Promise<OpenedProvider | undefined> {
  const steps: VerificationStep[] = [];
  const { driver, access } = await providers.forSlot(slotId, (step) => steps.push(step));
  if (driver.refunds === undefined) return undefined;
  // A provider may repeat the customer in a refusal, which becomes part of the audit log.
  const personal = Object.values(customer);
  return { refunds: driver.refunds, access: { ...access, personal, http: limitHttp(access.http) }, steps };
}

type AnswersByPayment = {
  /** Of the session's present payment. */
  readonly present: ReportedRefunds;
  /** Of earlier payments with pending refunds, as far as the provider answered about them. */
  readonly earlier: readonly ReportedRefunds[];
  /** Whether the provider reports the whole present payment as reversed, without a refund that says so. */
  readonly isReversed: boolean;
};

async function findRefunds(
  { pool, concurrency }: SyncOptions,
  { session }: VerificationLease,
  { refunds, access, steps }: OpenedProvider,
): Promise<AnswersByPayment | { readonly reason: string }> {
  const known = await readSessionRefunds(pool, session.id);
  const payment = paymentOf(session);
  const isPresent = ({ gatewayTransactionId }: StoredRefund): boolean =>
    gatewayTransactionId === payment.gatewayTransactionId;
  const find = async (of: SettledPayment, stored: readonly StoredRefund[]) => {
    const search = { payment: of, requested: stored.flatMap(requestedOf) };
    const found = await concurrency.run(session.slot, () => refunds.find(access, search));
    return { ...found, gatewayTransactionId: of.gatewayTransactionId };
  };
  try {
    const present = await find(payment, known.filter(isPresent));
    const open = known.filter((refund) => refund.state === 'pending' && !isPresent(refund));
    const earlier: ReportedRefunds[] = [];
    for (const [id, stored] of Map.groupBy(open, ({ gatewayTransactionId }) => gatewayTransactionId)) {
      const found = await find(earlierPaymentOf(session, id), stored).catch(undefinedIfUnavailable);
      if (found !== undefined) earlier.push(found);
    }
    return { present, earlier, isReversed: present.isReversed };
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error;
    if (steps.length > 0) await pool.query(recordSteps([{ sessionId: session.id, callbackIds: [], steps }]));
    return { reason: error.message };
  }
}

function requestedOf({ id, origin, state, amount, requestedAt, gatewayRefundId }: StoredRefund) {
  const isRequested = origin === 'hub' && requestedAt !== undefined;
  // A refused refund has no id.
  if (!isRequested || (state === 'failed' && gatewayRefundId === undefined)) return [];
  return [{ reference: formatId('rfd', id), amount, gatewayRefundId }];
}

/** An unanswered question about an earlier payment must not delay the refunds of the present one. */
function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof ProviderUnavailable)) throw error;
}

type Answer = AnswersByPayment & {
  readonly steps: readonly VerificationStep[];
  /** The callbacks that the answer settles. */
  readonly callbacks: readonly string[];
};

/** Records the answer, and ends the verification lease. */
async function recordAnswer(
  options: SyncOptions,
  { session: { id, slot }, fence, markEnded }: VerificationLease,
  { present, earlier, isReversed, steps, callbacks }: Answer,
): Promise<RefundSync> {
  const { pool, clock, metrics } = options;
  const finished = await inTransaction(pool, async (client, send) => {
    const session = await lockSession(client, id);
    if (session === undefined || isFenced({ fence }, session)) return undefined;
    // After the wait for the lock: see settle.ts.
    const at = clock();
    const known = await readSessionRefunds(client, id);
    const updates = matchRefunds(known, { present, earlier }, at);
    await recordRefunds(client, send, session, updates, { ...options, at });
    if (steps.length > 0) send(recordSteps([{ sessionId: id, callbackIds: callbacks.slice(0, 1), steps }]));
    send(endLease({ sessionId: id, holder: fence.holder }));
    const outcome = { state: 'settled', reason: 'the provider was asked for the refunds' } as const;
    return finishCallbacks(client, callbacks, { ...outcome, sessionId: id }, at);
  });
  markEnded();
  if (finished === undefined) {
    metrics.fenced(slot);
    return { kind: 'busy' };
  }
  for (const { gateway } of finished) metrics.finished(gateway, 'settled', 1);
  return { kind: 'synced', isReversed };
}

/** The callbacks of a paid session, which wait for its refunds only. */
async function readWaitingCallbacks(pool: Pool, sessionId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'callbacks_about_refunds',
    // callback_waiting_idx
    text: `select id from callback where session_id = $1 and state = 'received' order by id`,
    values: [sessionId],
  });
  return rows.map(({ id }) => id);
}
