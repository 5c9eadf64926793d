// JSON schemas and columns of callbacks and their verifications.
import type { Callback, Verification } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { outcomeText } from '../../../lib/presentation/session-timeline.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  id,
  integer,
  list,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const CALLBACK = object(
  'Callback',
  {
    callbackId: id('cb'),
    gateway: text(),
    sessionId: optional(id('chs', 'the session it belongs to')),
    state: word(CALLBACK_STATES),
    reason: text(),
    fields: map(text()),
    attempts: integer(),
    receivedAt: time(),
    finishedAt: optional(time('when it was processed')),
    sessionStatus: optional(word(CHARGE_STATUSES, 'session status that it was settled with')),
    replayedAt: optional(list(time(), 'when operators replayed it, oldest first')),
  },
  { message: 'hub.payment.v1.Callback' },
);
export type CallbackView = ValueOf<typeof CALLBACK>;

export const VERIFICATION = object(
  'Verification',
  {
    operation: text(),
    outcome: text(),
    detail: text(),
    askedAt: time(),
    durationMs: integer(),
    callbackId: optional(id('cb', 'the callback that caused the request')),
  },
  { message: 'hub.payment.v1.Verification' },
);
export type VerificationView = ValueOf<typeof VERIFICATION>;

/** A callback with its verifications, oldest first. */
export const CALLBACK_WITH_VERIFICATIONS = object('CallbackWithVerifications', {
  ...CALLBACK.properties,
  verifications: list(VERIFICATION, 'its verifications with the provider, oldest first'),
});

export function callbackView(callback: Callback): CallbackView {
  return {
    callbackId: callback.callbackId,
    gateway: callback.gateway,
    ...(callback.sessionId !== '' && { sessionId: callback.sessionId }),
    state: wordFor(CALLBACK_STATES, callback.state),
    reason: callback.reason,
    fields: callback.fields,
    attempts: callback.attempts,
    receivedAt: rfc3339(requireField(callback.receivedAt, 'time of receipt')),
    ...(callback.finishedAt && { finishedAt: rfc3339(callback.finishedAt) }),
    ...(callback.sessionStatus && { sessionStatus: wordFor(CHARGE_STATUSES, callback.sessionStatus) }),
    ...(callback.replayedAt.length > 0 && { replayedAt: callback.replayedAt.map(rfc3339) }),
  };
}

export function verificationView(verification: Verification): VerificationView {
  const { operation, outcome, detail, durationMs, callbackId } = verification;
  return {
    operation,
    outcome,
    detail,
    askedAt: rfc3339(requireField(verification.askedAt, 'time of the request')),
    durationMs,
    ...(callbackId !== '' && { callbackId }),
  };
}

export const CALLBACK_COLUMNS: readonly Column<CallbackView>[] = [
  { title: 'CALLBACK', cell: (item) => item.callbackId },
  { title: 'STATE', cell: (item) => outcomeText(item.state, item.sessionStatus) },
  { title: 'GATEWAY', cell: (item) => item.gateway },
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'RECEIVED', cell: (item) => shortTime(item.receivedAt) },
  { title: 'WHY', cell: (item) => item.reason },
];

export const CALLBACK_FIELDS: readonly Column<CallbackView>[] = [
  { title: 'Callback', cell: (item) => item.callbackId },
  { title: 'Gateway', cell: (item) => item.gateway },
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'State', cell: (item) => outcomeText(item.state, item.sessionStatus) },
  { title: 'Why', cell: (item) => item.reason },
  { title: 'Attempts', cell: (item) => item.attempts },
  { title: 'Received', cell: (item) => shortTime(item.receivedAt) },
  { title: 'Finished', cell: (item) => shortTime(item.finishedAt) },
  { title: 'Replayed', cell: (item) => item.replayedAt?.map(shortTime).join(', ') },
];

/** One line for each field of a callback: providers send two dozen. */
export const FIELD_COLUMNS: readonly Column<{ readonly name: string; readonly value: string }>[] = [
  { title: 'FIELD', cell: (item) => item.name },
  { title: 'VALUE', cell: (item) => item.value },
];

export const VERIFICATION_COLUMNS: readonly Column<VerificationView>[] = [
  { title: 'ASKED', cell: (item) => shortTime(item.askedAt) },
  { title: 'WHAT', cell: (item) => item.operation },
  { title: 'OUTCOME', cell: (item) => item.outcome },
  { title: 'MS', cell: (item) => item.durationMs, right: true },
  { title: 'ANSWER', cell: (item) => item.detail },
];
