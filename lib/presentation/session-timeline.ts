// The history of a charge session as a chronological list of events, for hubctl and the console.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Seat } from '../../gen/hub/license/v1/license_pb.ts';
import type { Order, OrderLicense } from '../../gen/hub/order/v1/order_pb.ts';
import type {
  Callback,
  DuplicatePayment,
  Money,
  StatusChange,
  UsageLog,
} from '../../gen/hub/payment/v1/payment_pb.ts';
import type { Refund } from '../../gen/hub/payment/v1/refund_pb.ts';
import {
  CALLBACK_STATES,
  CHARGE_STATUSES,
  ORDER_STATES,
  REFUND_KINDS,
  REFUND_ORIGINS,
  REFUND_STATES,
  TAKEN_BACK,
  USAGE_KINDS,
  wordFor,
} from './enum-names.ts';
import { formatDecimal } from './money.ts';
import { soldText, takenText } from './order-text.ts';
import type { SessionWithOrder } from './session-with-order.ts';

/** One event. */
export type SessionEvent = {
  /** Undefined for a callback that is still waiting. */
  readonly at: Timestamp | undefined;
  /** `callback`: received or replayed; `request`: request to the provider; `outcome`: result of a callback. */
  readonly kind:
    | 'session'
    | 'callback'
    | 'request'
    | 'status'
    | 'money'
    | 'order'
    | 'license'
    | 'machine'
    | 'outcome'
    | 'waiting';
  readonly what: string;
  readonly detail: string;
};

/**
 * Oldest first. Events of the same millisecond are in causal order.
 *
 * @param machines The seats of the order's licenses to list.
 */
export function listSessionEvents(reply: SessionWithOrder, machines: readonly Seat[] = []): SessionEvent[] {
  const { session, callbacks, verifications, usageLogs, duplicatePayments, refunds } = reply;
  const [waiting, finished] = [callbacks.filter(isWaiting), callbacks.filter((each) => !isWaiting(each))];
  const through = `${moneyText(session?.amount)} through ${session?.slot} (${session?.gateway})`;
  const events = [
    event('session', session?.createdAt, 'created', through),
    ...callbacks.map(({ callbackId, receivedAt, fields }) =>
      event('callback', receivedAt, 'callback', `${callbackId}: ${essentials(fields)}`),
    ),
    ...callbacks.flatMap(({ callbackId, replayedAt }) =>
      replayedAt.map((at) => event('callback', at, 'replayed', callbackId)),
    ),
    ...verifications.map(({ askedAt, operation, outcome, detail, durationMs }) =>
      event('request', askedAt, `request: ${operation}`, `${outcome} after ${durationMs} ms: ${detail}`),
    ),
    ...statuses(reply),
    ...refunds.map(refundLine),
    ...usageLogs.flatMap(usageLines),
    ...refunds.flatMap(refundEndLines),
    ...orderLines(reply.order),
    ...machines.map(machineLine),
    ...duplicatePayments.flatMap(duplicateLines),
    ...finished.map((callback) => {
      const { finishedAt, callbackId, attempts, reason } = callback;
      const detail = `${callbackId} at attempt ${attempts}: ${reason}`;
      return event('outcome', finishedAt, outcomeOf(callback), detail);
    }),
  ];
  return [
    // A stable sort keeps the causal order.
    ...events.sort((one, other) => milliseconds(one.at) - milliseconds(other.at)),
    ...waiting.map(({ callbackId, reason, attempts }) =>
      event('waiting', undefined, 'waiting', `${callbackId} after ${attempts} attempts: ${reason}`),
    ),
  ];
}

function event(
  kind: SessionEvent['kind'],
  at: SessionEvent['at'],
  what: string,
  detail: string,
): SessionEvent {
  return { at, kind, what, detail };
}

function isWaiting({ finishedAt }: Callback): boolean {
  return finishedAt === undefined;
}

/** The suffix of a status that the provider has not confirmed. */
export function unconfirmedText(status: string, verified: boolean): string {
  return status === 'pending' || verified ? '' : ' (the provider has not confirmed it)';
}

/** `settled (failed)`: a settled callback does not imply a payment. */
export function outcomeText(state: string, sessionStatus: string | undefined): string {
  return sessionStatus === undefined ? state : `${state} (${sessionStatus})`;
}

/** `ignored: 24 900 (24 800 only counted)`. */
export function callbackCountText(count: {
  readonly state: string;
  readonly kept: number;
  readonly onlyCounted: number;
}): string {
  const { state, kept, onlyCounted } = count;
  const counted = onlyCounted > 0 ? ` (${grouped(onlyCounted)} only counted)` : '';
  return `${state}: ${grouped(kept + onlyCounted)}${counted}`;
}

function grouped(count: number): string {
  return count.toLocaleString('en').replaceAll(',', ' ');
}

function outcomeOf({ state, sessionStatus }: Callback): string {
  const status = sessionStatus === 0 ? undefined : wordFor(CHARGE_STATUSES, sessionStatus);
  return outcomeText(wordFor(CALLBACK_STATES, state), status);
}

function statusLine({ at, to, verified, reason, callbackId }: StatusChange): SessionEvent {
  const what = wordFor(CHARGE_STATUSES, to);
  const by = callbackId === '' ? '' : `, by ${callbackId}`;
  return event('status', at, what, `${reason}${by}${unconfirmedText(what, verified)}`);
}

/** Adds the current status, unless the last change has it. */
function statuses({ session, statusChanges }: SessionWithOrder): SessionEvent[] {
  const lines = statusChanges.map(statusLine);
  const last = statusChanges.at(-1);
  if (session === undefined || (last?.to === session.status && last.reason === session.statusReason))
    return lines;
  const what = wordFor(CHARGE_STATUSES, session.status);
  return [...lines, event('status', session.statusChangedAt, what, session.statusReason)];
}

function usageLines(entry: UsageLog): SessionEvent[] {
  const { settledAt, usageLogId, kind, reversesUsageLogId, gatewayTransactionId } = entry;
  const line = (what: string, detail: string): SessionEvent => event('money', settledAt, what, detail);
  const paid = `${usageLogId}: ${moneyText(entry.amount)}`;
  if (kind === USAGE_KINDS.reversal) return [line('reversed', `${paid}, reverses ${reversesUsageLogId}`)];
  if (kind === USAGE_KINDS.refund) {
    return [line('refunded', `${paid}, provider refund ${gatewayTransactionId}`)];
  }
  const what = kind === USAGE_KINDS.later_payment ? 'paid again' : 'usage log';
  return [
    line(what, `${paid}, provider transaction ${gatewayTransactionId}`),
    ...entry.fees.map(({ rule, ruleVersion, amount }) =>
      line('fee', `${moneyText(amount)} by ${rule}, version ${ruleVersion}`),
    ),
    line('total fees', moneyText(entry.feeTotal)),
  ];
}

function refundLine({ createdAt, kind, origin, refundId, amount, reason, ...refund }: Refund): SessionEvent {
  const began = origin === REFUND_ORIGINS.hub ? 'requested' : 'found';
  const state = refund.state === REFUND_STATES.pending ? refund.stateReason : '';
  const why = [reason, state].filter((text) => text !== '').join('; ');
  const what = `${wordFor(REFUND_KINDS, kind)} ${began}`;
  return event('money', createdAt, what, `${refundId}: ${moneyText(amount)}${why && `, ${why}`}`);
}

function refundEndLines(refund: Refund): SessionEvent[] {
  const { finishedAt, kind, state, refundId, stateReason, reviewReason, reviewedAt, resolution } = refund;
  const what = `${wordFor(REFUND_KINDS, kind)} ${wordFor(REFUND_STATES, state)}`;
  const review = reviewReason && `; review: ${reviewReason}`;
  return [
    ...(finishedAt ? [event('money', finishedAt, what, `${refundId}: ${stateReason}${review}`)] : []),
    ...(reviewedAt ? [event('money', reviewedAt, 'refund reviewed', `${refundId}: ${resolution}`)] : []),
  ];
}

function orderLines(order: Order | undefined): SessionEvent[] {
  if (order === undefined) return [];
  const { orderId, state, reason, createdAt, fulfilledAt, refundedAt, licenses } = order;
  const line = (at: Timestamp | undefined, what: string, detail: string): SessionEvent =>
    event('order', at, what, `${orderId}: ${detail}`);
  if (state === ORDER_STATES.blocked) return [line(createdAt, 'order blocked', reason)];
  const taken = licenses.flatMap((license) => takenLines(refundedAt, license));
  const refunds =
    state === ORDER_STATES.refunded ? [line(refundedAt, 'order refunded', reason), ...taken] : [];
  if (fulfilledAt === undefined) {
    return [line(createdAt, 'order blocked', 'it was refunded before it was fulfilled'), ...refunds];
  }
  const wasBlocked = milliseconds(createdAt) < milliseconds(fulfilledAt);
  return [
    ...(wasBlocked ? [line(createdAt, 'order blocked', 'a later attempt fulfilled it')] : []),
    line(fulfilledAt, 'order fulfilled', soldText(order)),
    ...licenses.map((license) => licenseLine(fulfilledAt, license)),
    ...refunds,
  ];
}

/** Nothing for a license that the refund left unchanged. */
function takenLines(at: Timestamp | undefined, license: OrderLicense): SessionEvent[] {
  const { licenseId, seatsTaken, timeTakenMs } = license;
  const takenBack = wordFor(TAKEN_BACK, license.takenBack);
  if (takenBack === 'kept') return [];
  const taken = takenText({ takenBack, seatsTaken, timeTakenMs: Number(timeTakenMs) });
  if (takenBack !== 'undone') return [event('license', at, `license ${taken}`, licenseId)];
  return [event('license', at, 'taken back', `${licenseId}: ${taken}`)];
}

function licenseLine(at: Timestamp, license: OrderLicense): SessionEvent {
  const { licenseId, issued, seatsAdded, expiresBefore, expiresAfter } = license;
  if (issued) return event('license', at, 'license issued', licenseId);
  if (seatsAdded > 0) return event('license', at, 'seats added', `${licenseId}: ${seatsAdded}`);
  const before = expiresBefore ? `, before ${dayOf(expiresBefore)}` : '';
  const expiry = expiresAfter ? `: expires ${dayOf(expiresAfter)}${before}` : '';
  return event('license', at, 'license renewed', `${licenseId}${expiry}`);
}

function machineLine({ activatedAt, machineLabel, machineFingerprint, licenseId }: Seat): SessionEvent {
  const machine = machineLabel || machineFingerprint;
  return event('machine', activatedAt, 'machine activated', `${machine} with ${licenseId}`);
}

/** `2026-12-31` in UTC */
function dayOf(at: Timestamp): string {
  return new Date(milliseconds(at)).toISOString().slice(0, 10);
}

function duplicateLines(duplicate: DuplicatePayment): SessionEvent[] {
  const { foundAt, resolvedAt, duplicatePaymentId, resolution, amount, gatewayTransactionId } = duplicate;
  const found = `${duplicatePaymentId}: ${moneyText(amount)}, provider transaction ${gatewayTransactionId}`;
  const lines = [event('money', foundAt, 'duplicate payment', found)];
  if (resolvedAt === undefined) return lines;
  return [...lines, event('money', resolvedAt, 'duplicate handled', `${duplicatePaymentId}: ${resolution}`)];
}

function moneyText(money: Money | undefined): string {
  return money === undefined ? '' : `${formatDecimal(money.minorUnits, money.currency)} ${money.currency}`;
}

function milliseconds(at: Timestamp | undefined): number {
  return at === undefined ? 0 : Number(at.seconds) * 1000 + Math.floor(at.nanos / 1e6);
}

/** Fields that show the claimed outcome and the payment. */
const ESSENTIAL = ['status', 'tran_id', 'val_id', 'paymentID', 'paymentId', 'amount', 'currency'];

function essentials(fields: Readonly<Record<string, string>>): string {
  const shown = ESSENTIAL.flatMap((name) => (Object.hasOwn(fields, name) ? [`${name}=${fields[name]}`] : []));
  const more = Object.keys(fields).length - shown.length;
  return [...shown, ...(more > 0 ? [`(${more} more fields)`] : [])].join(' ') || 'no fields';
}
