// Records the states of refunds in the transaction that has locked their session. Writes the refunds, the
// usage log, the refunded amount of the session, the order, audit entries and events.
import type { PoolClient } from 'pg';
import { type Change, recordChanges } from '../../audit/record.ts';
import { type NewEvent, recordEvents } from '../../event/outbox.ts';
import { formatId, newUuid } from '../../ids.ts';
import { combineWrites, type Send } from '../../storage/sql/transaction.ts';
import type { RefundStateName } from '../entities.ts';
import { formatMoney } from '../money.ts';
import type { Fulfillment, Sales } from '../order-interface.ts';
import { type RetryDelay, retryDelay } from '../provider-retry-delay.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { logUsages, refundEntry, SETTLEMENT } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { RefundUpdate } from './match-refunds.ts';
import { insertRefunds, type RecordedRefund, setRefunded, updateRefunds } from './refund-statements.ts';

export type RecordOptions = Pick<PaymentDependencies, 'metrics'> &
  RetryDelay & { readonly sales: Pick<Sales, 'takeBack' | 'reviewPartialRefund'> };

/** Records the updates of one session, which the transaction has locked. */
export async function recordRefunds(
  client: PoolClient,
  send: Send,
  session: StoredSession,
  updates: readonly RefundUpdate[],
  options: RecordOptions & { readonly at: Date },
): Promise<void> {
  const { at } = options;
  const ownUpdates = await withoutOtherSessions(client, session, updates);
  if (ownUpdates.length === 0) return;
  const deducted = deductRefunds(session, ownUpdates);
  const { refundedMinor } = deducted;
  const { refunds, orders } = await changeOrder(client, send, session, deducted, options);
  const rows = refunds.map((refund) => ({
    refund,
    nextCheckAt: nextCheckAt(refund, options),
  }));
  const known = rows.filter(({ refund }) => refund.before !== undefined);
  const found = rows.filter(({ refund }) => refund.before === undefined);
  send(
    combineWrites({
      name: 'record_refunds',
      writes: [
        insertRefunds(session, found, at),
        updateRefunds(known, at),
        setRefunded(session.id, refundedMinor),
        logUsages(
          refunds.flatMap((refund) => usageEntryOf(refund, session) ?? []),
          at,
        ),
        recordEvents(at, [...refunds.flatMap((refund) => eventsOf(refund, session)), ...orders.events]),
        recordChanges(SETTLEMENT, at, [
          ...refunds.flatMap((refund) => changeOf(refund, session) ?? []),
          ...orders.changes,
        ]),
      ],
    }),
  );
  for (const { before, after } of refunds) {
    if (after.state !== 'pending' && after.state !== before?.state)
      options.metrics.refundFinished(session.gateway, after.state);
  }
}

/** Leaves out refunds of other sessions: a provider's id names one refund of its gateway. */
async function withoutOtherSessions(
  client: PoolClient,
  { id, gateway }: StoredSession,
  updates: readonly RefundUpdate[],
): Promise<readonly RefundUpdate[]> {
  const ids = updates.flatMap(({ before, after: { gatewayRefundId } }) =>
    gatewayRefundId === undefined || gatewayRefundId === before?.gatewayRefundId ? [] : [gatewayRefundId],
  );
  if (ids.length === 0) return updates;
  const { rows } = await client.query<{ taken: string }>({
    name: 'refunds_of_others',
    // refund_gateway_refund_key
    text: `select gateway_refund_id as taken from refund
           where gateway = $1 and gateway_refund_id = any($2) and session_id <> $3`,
    values: [gateway, ids, id],
  });
  const taken = new Set(rows.map((row) => row.taken));
  return updates.filter(({ after }) => !taken.has(after.gatewayRefundId ?? ''));
}

/** Subtracts succeeded refunds from the payment, never more than is left of it. */
function deductRefunds(session: StoredSession, updates: readonly RefundUpdate[]) {
  let { refundedMinor } = session;
  const refunds = updates.map((update): RecordedRefund => {
    const { before, after } = update;
    const id = before?.id ?? newUuid();
    if (after.state !== 'succeeded' || before?.state === 'succeeded')
      return { ...update, id, deductedMinor: 0n };
    const leftMinor = isRefundable(session, update) ? session.amount.minor - refundedMinor : 0n;
    const deductedMinor = after.amount.minor < leftMinor ? after.amount.minor : leftMinor;
    refundedMinor += deductedMinor;
    const reviewReason =
      deductedMinor === after.amount.minor
        ? after.reviewReason
        : `only ${formatMoney({ ...session.amount, minor: deductedMinor })} of it was left of the payment`;
    return { ...update, after: { ...after, reviewReason }, id, deductedMinor };
  });
  return { refunds, refundedMinor };
}

type Deducted = ReturnType<typeof deductRefunds>;

const NO_CHANGES: Fulfillment = { events: [], changes: [] };

/**
 * Takes back the licenses of a full refund. Marks a partial refund for review if it pays for some of the
 * licenses.
 */
async function changeOrder(
  client: PoolClient,
  send: Send,
  session: StoredSession,
  { refunds, refundedMinor }: Deducted,
  { sales, at }: RecordOptions & { readonly at: Date },
): Promise<{ readonly refunds: readonly RecordedRefund[]; readonly orders: Fulfillment }> {
  const last = refunds.findLast(({ deductedMinor }) => deductedMinor > 0n);
  if (!session.hasPurchase || last === undefined) return { refunds, orders: NO_CHANGES };
  if (refundedMinor === session.amount.minor) {
    const { id, slotId } = session;
    const orders = await sales.takeBack(client, send, [{ id, slotId, cause: last.after.kind }], {
      at,
      actor: SETTLEMENT,
    });
    return { refunds, orders: withChanges(orders, await closePartReviews(client, session, at)) };
  }
  const reviewReason = await sales.reviewPartialRefund(client, session.id, refundedMinor);
  if (reviewReason === undefined) return { refunds, orders: NO_CHANGES };
  const closed = await closePartReviews(client, session, at);
  const reviewed = refunds.map(
    (refund): RecordedRefund =>
      refund === last && refund.after.reviewReason === undefined
        ? { ...refund, after: { ...refund.after, reviewReason, reviewsPart: true } }
        : refund,
  );
  return { refunds: reviewed, orders: withChanges(NO_CHANGES, closed) };
}

function withChanges(orders: Fulfillment, changes: readonly Change[]): Fulfillment {
  return { ...orders, changes: [...orders.changes, ...changes] };
}

/**
 * Closes the reviews of earlier partial refunds: a later refund starts a review of their sum, or is a full
 * refund.
 */
async function closePartReviews(client: PoolClient, { id }: StoredSession, at: Date): Promise<Change[]> {
  const resolution = 'a later refund of the payment replaces this review';
  const { rows } = await client.query<{ id: string; reviewReason: string }>({
    name: 'close_part_reviews',
    // refund_session_idx
    text: `update refund set reviewed_at = $2, resolution = $3
           where session_id = $1 and reviews_part and reviewed_at is null
           returning id, review_reason as "reviewReason"`,
    values: [id, at, resolution],
  });
  return rows.map((refund) => ({
    action: 'refund.resolve',
    subject: formatId('rfd', refund.id),
    before: { reviewed: false },
    after: { reviewed: true, resolution },
    detail: { review: refund.reviewReason },
  }));
}

/** Whether the refund pays back the session's present payment, in its currency. */
function isRefundable(
  { status, amount, gatewayTransactionId }: StoredSession,
  { before, after }: RefundUpdate,
): boolean {
  const isOfThisPayment = before === undefined || before.gatewayTransactionId === gatewayTransactionId;
  return status === 'success' && isOfThisPayment && amount.currency === after.amount.currency;
}

function nextCheckAt(
  { before, after }: RecordedRefund,
  options: RetryDelay & { readonly at: Date },
): Date | undefined {
  if (after.state !== 'pending') return undefined;
  if (after.requestAgain) return options.at;
  const waitedMs = before === undefined ? 0 : options.at.getTime() - before.createdAt.getTime();
  return new Date(options.at.getTime() + retryDelay(waitedMs, options));
}

function usageEntryOf({ id, after, deductedMinor }: RecordedRefund, session: StoredSession) {
  const { gatewayRefundId = '' } = after;
  return deductedMinor === 0n
    ? undefined
    : refundEntry({ id, gatewayRefundId, amountMinor: deductedMinor }, session);
}

function eventsOf({ id, before, after }: RecordedRefund, { slotId }: StoredSession): NewEvent[] {
  const types = [
    ...(before === undefined ? ['refund.created' as const] : []),
    ...(after.state !== 'pending' && after.state !== before?.state ? [`refund.${after.state}` as const] : []),
  ];
  return types.map((type) => ({ type, objectId: id, slotId }));
}

function changeOf({ id, before, after }: RecordedRefund, session: StoredSession): Change | undefined {
  const stateOf = (state: RefundStateName, gatewayRefundId = '') => ({ state, gatewayRefundId });
  const isChanged =
    before === undefined ||
    before.state !== after.state ||
    before.gatewayRefundId !== after.gatewayRefundId ||
    after.reviewReason !== undefined;
  if (!isChanged) return undefined;
  return {
    action: before === undefined ? 'refund.find' : 'refund.settle',
    subject: formatId('rfd', id),
    before: before === undefined ? null : stateOf(before.state, before.gatewayRefundId),
    after: {
      ...stateOf(after.state, after.gatewayRefundId),
      reason: after.stateReason,
      ...(after.reviewReason !== undefined && { review: after.reviewReason }),
    },
    detail: { session: formatId('chs', session.id), amount: formatMoney(after.amount) },
  };
}
