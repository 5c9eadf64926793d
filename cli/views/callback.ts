// Callbacks, and what the provider was asked on their behalf, as hubctl prints them.
import type { Callback, Verification } from '../../gen/hub/payment/v1/payment_pb.ts';
import { outcomeText } from '../../story/session-story.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, wordFor } from '../../story/words.ts';
import { part } from '../reply.ts';
import { id, integer, list, map, type Of, object, optional, text, time, word } from '../shapes.ts';
import type { Column } from '../table.ts';
import { rfc3339, shortTime } from './cells.ts';

export const CALLBACK = object(
  'Callback',
  {
    callbackId: id('cb'),
    gateway: text(),
    sessionId: optional(id('chs', 'the session it was resolved to')),
    state: word(CALLBACK_STATES),
    reason: text(),
    fields: map(text()),
    attempts: integer(),
    receivedAt: time(),
    finishedAt: optional(time('when it was dealt with')),
    sessionStatus: optional(
      word(CHARGE_STATUSES, 'what it was settled with: the status of its session then'),
    ),
    replayedAt: optional(list(time(), 'when operators had it dealt with again, oldest first')),
  },
  { message: 'hub.payment.v1.Callback' },
);
export type CallbackView = Of<typeof CALLBACK>;

export const VERIFICATION = object(
  'Verification',
  {
    operation: text(),
    outcome: text(),
    detail: text(),
    askedAt: time(),
    durationMs: integer(),
    callbackId: optional(id('cb', 'the callback on whose behalf it was asked')),
  },
  { message: 'hub.payment.v1.Verification' },
);
export type VerificationView = Of<typeof VERIFICATION>;

/** With what the provider was asked on its behalf, oldest first. */
export const CALLBACK_WITH_VERIFICATIONS = object('CallbackWithVerifications', {
  ...CALLBACK.properties,
  verifications: list(VERIFICATION, 'what the provider was asked on its behalf, oldest first'),
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
    receivedAt: rfc3339(part(callback.receivedAt, 'time of receipt')),
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
    askedAt: rfc3339(part(verification.askedAt, 'time of the question')),
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

/** The fields of a callback, a line each: a provider sends two dozen. */
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
