// Records what became of refunds, in the transaction that has locked their session: the refunds, the usage log, the
// refunded part of the payment, what the payment granted, audit entries and events.
import type { PoolClient } from 'pg';
import { type Change, recordChanges } from '../../audit/record.ts';
import { type NewEvent, recordEvents } from '../../event/outbox.ts';
import { formatId, newUuid } from '../../ids.ts';
import { combineWrites, type Send } from '../../storage/sql/transaction.ts';
import type { RefundStateName } from '../entities.ts';
import type { PaymentMetrics } from '../metrics.ts';
import { formatMoney } from '../money.ts';
import { type RetryDelayLimits, retryDelay } from '../retry-delay.ts';
import type { Fulfillment, Sales } from '../sales.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { logUsages, refundEntry, SETTLEMENT } from '../settlement/statements.ts';
import type { RefundUpdate } from './match-refunds.ts';
import { insertRefunds, type RecordedRefund, setRefunded, updateRefunds } from './statements.ts';

export type RecordOptions = RetryDelayLimits & {
  readonly sales: Pick<Sales, 'takeBack' | 'questionOfPartialRefund'>;
  readonly metrics: Pick<PaymentMetrics, 'refundFinished'>;
};

/** Records the updates of one session, which the transaction has locked. */
export type RecordSessionRefunds = (
  client: PoolClient,
  send: Send,
  session: StoredSession,
  updates: readonly RefundUpdate[],
  at: Date,
) => Promise<void>;

export function createRecordRefunds(options: RecordOptions): RecordSessionRefunds {
  return (client, send, session, updates, at) =>
    recordRefunds(client, send, session, updates, { ...options, at });
}

async function recordRefunds(
  client: PoolClient,
  send: Send,
  session: StoredSession,
  updates: readonly RefundUpdate[],
  options: RecordOptions & { readonly at: Date },
): Promise<void> {
  const { at } = options;
  const own = await withoutOthers(client, session, updates);
  if (own.length === 0) return;
  const booked = bookRefunds(session, own);
  const { refundedMinor } = booked;
  const { refunds, orders } = await changeOrder(client, send, session, booked, options);
  const rows = refunds.map((refund) => ({
    refund,
    nextCheckAt: nextCheckOf(refund, options),
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
          refunds.flatMap((refund) => entryOf(refund, session) ?? []),
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
async function withoutOthers(
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

/** Takes succeeded refunds from the payment, never more than is left of it. */
function bookRefunds(session: StoredSession, updates: readonly RefundUpdate[]) {
  let { refundedMinor } = session;
  const refunds = updates.map((update): RecordedRefund => {
    const { before, after } = update;
    const id = before?.id ?? newUuid();
    if (after.state !== 'succeeded' || before?.state === 'succeeded') return { ...update, id, paidMinor: 0n };
    const leftMinor = isRefundable(session, update) ? session.amount.minor - refundedMinor : 0n;
    const paidMinor = after.amount.minor < leftMinor ? after.amount.minor : leftMinor;
    refundedMinor += paidMinor;
    const question =
      paidMinor === after.amount.minor
        ? after.question
        : `only ${formatMoney({ ...session.amount, minor: paidMinor })} of it was left of the payment`;
    return { ...update, after: { ...after, question }, id, paidMinor };
  });
  return { refunds, refundedMinor };
}

type Booked = ReturnType<typeof bookRefunds>;

const NO_CHANGES: Fulfillment = { events: [], changes: [] };

/** Takes back what a session sold once all is refunded, and asks an operator about a part that fits some of it. */
async function changeOrder(
  client: PoolClient,
  send: Send,
  session: StoredSession,
  { refunds, refundedMinor }: Booked,
  { sales, at }: RecordOptions & { readonly at: Date },
): Promise<{ readonly refunds: readonly RecordedRefund[]; readonly orders: Fulfillment }> {
  const last = refunds.findLast(({ paidMinor }) => paidMinor > 0n);
  if (!session.hasPurchase || last === undefined) return { refunds, orders: NO_CHANGES };
  if (refundedMinor === session.amount.minor) {
    const { id, slotId } = session;
    const orders = await sales.takeBack(client, send, [{ id, slotId, cause: last.after.kind }], {
      at,
      actor: SETTLEMENT,
    });
    return { refunds, orders };
  }
  const question = await sales.questionOfPartialRefund(client, session.id, refundedMinor);
  if (question === undefined) return { refunds, orders: NO_CHANGES };
  const asked = refunds.map((refund) =>
    refund === last
      ? { ...refund, after: { ...refund.after, question: refund.after.question ?? question } }
      : refund,
  );
  return { refunds: asked, orders: NO_CHANGES };
}

/** Whether the refund is one of the payment that stands, in its currency. */
function isRefundable(
  { status, amount, gatewayTransactionId }: StoredSession,
  { before, after }: RefundUpdate,
): boolean {
  const isOfPayment = before === undefined || before.gatewayTransactionId === gatewayTransactionId;
  return status === 'success' && isOfPayment && amount.currency === after.amount.currency;
}

function nextCheckOf(
  { before, after }: RecordedRefund,
  options: RetryDelayLimits & { readonly at: Date },
): Date | undefined {
  if (after.state !== 'pending') return undefined;
  if (after.isUnrequested) return options.at;
  const waitedMs = before === undefined ? 0 : options.at.getTime() - before.createdAt.getTime();
  return new Date(options.at.getTime() + retryDelay(waitedMs, options));
}

function entryOf({ id, after, paidMinor }: RecordedRefund, session: StoredSession) {
  const { gatewayRefundId = '' } = after;
  return paidMinor === 0n ? undefined : refundEntry({ id, gatewayRefundId, paidMinor }, session);
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
    after.question !== undefined;
  if (!isChanged) return undefined;
  return {
    action: before === undefined ? 'refund.find' : 'refund.settle',
    subject: formatId('rfd', id),
    before: before === undefined ? null : stateOf(before.state, before.gatewayRefundId),
    after: {
      ...stateOf(after.state, after.gatewayRefundId),
      reason: after.stateReason,
      ...(after.question !== undefined && { review: after.question }),
    },
    detail: { session: formatId('chs', session.id), amount: formatMoney(after.amount) },
  };
}
