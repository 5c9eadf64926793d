// Callbacks, and what the provider was asked on their behalf, as hubctl prints them.
import type { Callback, Verification } from '../../gen/hub/payment/v1/payment_pb.ts';
import { part } from '../reply.ts';
import type { Column } from '../table.ts';
import { pairsText, rfc3339, shortTime } from './cells.ts';
import { wordFor } from './words.ts';

/** Words of the states by their number in the contract. */
export const CALLBACK_STATES = {
  received: 1,
  settled: 2,
  ignored: 3,
  unresolved: 4,
  mismatch: 5,
  dead: 6,
} as const;

export type CallbackView = {
  readonly callbackId: string;
  readonly gateway: string;
  /** Of the session it was resolved to. */
  readonly sessionId?: string;
  readonly state: string;
  readonly reason: string;
  /** As they were sent, by anybody. */
  readonly fields: Record<string, string>;
  readonly attempts: number;
  readonly receivedAt: string;
  readonly finishedAt?: string;
};

export type VerificationView = {
  /** What was asked: `validate`, `execute`, `query`, … */
  readonly operation: string;
  readonly outcome: string;
  readonly detail: string;
  readonly askedAt: string;
  readonly durationMs: number;
  /** Of the callback on whose behalf it was asked. */
  readonly callbackId?: string;
};

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
  { title: 'STATE', cell: (item) => item.state },
  { title: 'GATEWAY', cell: (item) => item.gateway },
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'RECEIVED', cell: (item) => shortTime(item.receivedAt) },
  { title: 'WHY', cell: (item) => item.reason },
];

export const CALLBACK_FIELDS: readonly Column<CallbackView>[] = [
  { title: 'Callback', cell: (item) => item.callbackId },
  { title: 'Gateway', cell: (item) => item.gateway },
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'State', cell: (item) => item.state },
  { title: 'Why', cell: (item) => item.reason },
  { title: 'Fields', cell: (item) => pairsText(item.fields) },
  { title: 'Attempts', cell: (item) => item.attempts },
  { title: 'Received', cell: (item) => shortTime(item.receivedAt) },
  { title: 'Finished', cell: (item) => shortTime(item.finishedAt) },
];

export const VERIFICATION_COLUMNS: readonly Column<VerificationView>[] = [
  { title: 'ASKED', cell: (item) => shortTime(item.askedAt) },
  { title: 'WHAT', cell: (item) => item.operation },
  { title: 'OUTCOME', cell: (item) => item.outcome },
  { title: 'MS', cell: (item) => item.durationMs, right: true },
  { title: 'ANSWER', cell: (item) => item.detail },
];
