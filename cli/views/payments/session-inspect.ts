// JSON schemas and columns of a charge session's full history.
import type { Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import type { StatusChange } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { RecheckChargeSessionResponse } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { CALLBACK_STATES, CHARGE_STATUSES } from '../../../lib/presentation/enum-names.ts';
import { callbackCountText, type SessionEvent } from '../../../lib/presentation/session-timeline.ts';
import type { SessionWithOrder } from '../../../lib/presentation/session-with-order.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { SEAT, seatView } from '../licensing/seat.ts';
import { ORDER, orderView } from '../orders/order.ts';
import * as json from '../schema.ts';
import { CALLBACK, callbackView, VERIFICATION, verificationView } from './callback.ts';
import { CHARGE_SESSION, CHARGE_SESSION_FIELDS, chargeSessionView } from './charge-session.ts';
import { DUPLICATE_PAYMENT, duplicatePaymentView } from './duplicate-payment.ts';
import { REFUND, refundView } from './refund.ts';
import { FEE_LINE, USAGE_LOG, usageView } from './usage.ts';

export const STATUS_CHANGE = json.view('StatusChange', 'hub.payment.v1.StatusChange', {
  at: json.time(),
  from: json.word(CHARGE_STATUSES),
  to: json.word(CHARGE_STATUSES),
  verified: json.boolean(),
  reason: json.text(),
  callbackId: json.optional(json.id('cb', 'the callback that caused the change')),
});
export type StatusChangeView = json.ValueOf<typeof STATUS_CHANGE>;

const CALLBACK_COUNT = json.view('CallbackCount', 'hub.payment.v1.CallbackCount', {
  state: json.word(CALLBACK_STATES),
  kept: json.integer(),
  onlyCounted: json.integer(),
});

export const SESSION_HISTORY = json.object('SessionHistory', {
  ...CHARGE_SESSION.properties,
  statusChanges: json.list(
    STATUS_CHANGE,
    'its newest 50 status changes, oldest first, as far back as the audit log goes',
  ),
  moreStatusChanges: json.boolean('whether there are more: `session list-changes` lists all'),
  callbacks: json.list(CALLBACK, 'its newest 50 callbacks, oldest first'),
  moreCallbacks: json.boolean('whether the journal has more: `callback list --session` lists all'),
  callbackCounts: json.list(CALLBACK_COUNT, 'number of callbacks by state'),
  verifications: json.list(VERIFICATION, 'the newest 50 verifications with the provider, oldest first'),
  moreVerifications: json.boolean('whether there are more: `session list-verifications` lists all'),
  usageLog: json.nullable(USAGE_LOG, 'the usage log entry of its first payment; null unless it was paid'),
  fees: json.list(FEE_LINE, 'the fees of that entry'),
  usageLogs: json.list(
    USAGE_LOG,
    'all its usage log entries, oldest first, with refunds, reversals and later payments',
  ),
  refunds: json.list(REFUND, 'its refunds and disputes, oldest first'),
  duplicatePayments: json.list(
    DUPLICATE_PAYMENT,
    'its duplicate payments at the provider that are not reversed, oldest first',
  ),
  order: json.nullable(ORDER, 'the order that the payment made; null without one'),
  machines: json.list(SEAT, 'the first machines that activated the licenses of the order after it was paid'),
});
export type SessionHistoryView = json.ValueOf<typeof SESSION_HISTORY>;

/** A session after a recheck with its provider. */
export const RECHECKED_SESSION = json.object('RecheckedSession', {
  ...CHARGE_SESSION.properties,
  verification: json.optional(
    json.withDescription(VERIFICATION, 'the verification; missing if the session has no checkout'),
  ),
});

export function recheckedView(reply: RecheckChargeSessionResponse): json.ValueOf<typeof RECHECKED_SESSION> {
  return {
    ...chargeSessionView(reply.session),
    ...(reply.verification && { verification: verificationView(reply.verification) }),
  };
}

export const RECHECKED_FIELDS: readonly Column<json.ValueOf<typeof RECHECKED_SESSION>>[] = [
  ...CHARGE_SESSION_FIELDS,
  {
    title: 'Provider says',
    cell: ({ verification: it }) => it && `${it.operation}: ${it.outcome}, ${it.detail}`,
  },
];

export function sessionHistoryView(reply: SessionWithOrder, machines: readonly Seat[]): SessionHistoryView {
  const usageLog = reply.usageLog ? usageView(reply.usageLog) : null;
  return {
    ...chargeSessionView(reply.session),
    statusChanges: reply.statusChanges.map(statusChangeView),
    moreStatusChanges: reply.moreStatusChanges,
    callbacks: reply.callbacks.map(callbackView),
    moreCallbacks: reply.moreCallbacks,
    callbackCounts: reply.callbackCounts.map((count) => json.viewOf(CALLBACK_COUNT, count)),
    verifications: reply.verifications.map(verificationView),
    moreVerifications: reply.moreVerifications,
    usageLog,
    fees: usageLog?.fees ?? [],
    usageLogs: reply.usageLogs.map(usageView),
    refunds: reply.refunds.map(refundView),
    duplicatePayments: reply.duplicatePayments.map(duplicatePaymentView),
    order: reply.order ? orderView(reply.order) : null,
    machines: machines.map(seatView),
  };
}

export const statusChangeView = (change: StatusChange): StatusChangeView =>
  json.viewOf(STATUS_CHANGE, change);

export const SESSION_HISTORY_FIELDS: readonly Column<SessionHistoryView>[] = [
  ...CHARGE_SESSION_FIELDS,
  { title: 'Fulfillment', cell: ({ order }) => order?.orderId && `${order.orderId}, ${order.state}` },
  { title: 'Callbacks', cell: ({ callbackCounts }) => callbackCounts.map(callbackCountText).join(', ') },
];

/** Lists the commands that show what the history omits. */
export function commandsForOmitted(history: SessionHistoryView): string[] {
  const { sessionId, moreCallbacks, moreVerifications, moreStatusChanges } = history;
  return [
    ...(moreCallbacks ? [`Earlier callbacks: hubctl callback list --session ${sessionId}`] : []),
    ...(moreVerifications ? [`Earlier verifications: hubctl session list-verifications ${sessionId}`] : []),
    ...(moreStatusChanges ? [`Earlier status changes: hubctl session list-changes ${sessionId}`] : []),
  ];
}

export const STATUS_CHANGE_COLUMNS: readonly Column<StatusChangeView>[] = [
  { title: 'TIME', cell: ({ at }) => shortTime(at) },
  { title: 'FROM', cell: ({ from }) => from },
  { title: 'TO', cell: ({ to }) => to },
  { title: 'VERIFIED', cell: ({ verified }) => (verified ? 'yes' : 'no') },
  { title: 'CALLBACK', cell: ({ callbackId }) => callbackId },
  { title: 'WHY', cell: ({ reason }) => reason },
];

export const HISTORY_COLUMNS: readonly Column<SessionEvent>[] = [
  { title: 'TIME', cell: ({ at }) => at && rfc3339(at) },
  { title: 'WHAT', cell: ({ what }) => what },
  { title: 'DETAIL', cell: ({ detail }) => detail },
];
