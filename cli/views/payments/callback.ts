// JSON schemas and columns of callbacks and their verifications.
import { CALLBACK_STATES, CHARGE_STATUSES } from '../../../lib/presentation/enum-names.ts';
import { outcomeText } from '../../../lib/presentation/session-timeline.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import * as json from '../schema.ts';

export const CALLBACK = json.view('Callback', 'hub.payment.v1.Callback', {
  callbackId: json.id('cb'),
  gateway: json.text(),
  sessionId: json.optional(json.id('chs', 'the session it belongs to')),
  state: json.word(CALLBACK_STATES),
  reason: json.text(),
  fields: json.map(json.text()),
  attempts: json.integer(),
  receivedAt: json.time(),
  finishedAt: json.optional(json.time('when it was processed')),
  sessionStatus: json.optional(json.word(CHARGE_STATUSES, 'session status that it was settled with')),
  replayedAt: json.optional(json.list(json.time(), 'when operators replayed it, oldest first')),
});
export type CallbackView = json.ValueOf<typeof CALLBACK>;

export const VERIFICATION = json.view('Verification', 'hub.payment.v1.Verification', {
  operation: json.text(),
  outcome: json.text(),
  detail: json.text(),
  askedAt: json.time(),
  durationMs: json.integer(),
  callbackId: json.optional(json.id('cb', 'the callback that caused the request')),
});
export type VerificationView = json.ValueOf<typeof VERIFICATION>;

export const CALLBACK_WITH_VERIFICATIONS = json.object('CallbackWithVerifications', {
  ...CALLBACK.properties,
  verifications: json.list(VERIFICATION, 'its verifications with the provider, oldest first'),
});

export const callbackView = json.viewer(CALLBACK);

export const verificationView = json.viewer(VERIFICATION);

export const CALLBACK_FIELDS: readonly Column<CallbackView>[] = [
  ...columnsOf(CALLBACK, 'callbackId', 'gateway', 'sessionId'),
  { title: 'State', cell: (item) => outcomeText(item.state, item.sessionStatus) },
  ...columnsOf(CALLBACK, { reason: 'Why' }, 'attempts', 'receivedAt', 'finishedAt'),
  { title: 'Replayed', cell: (item) => item.replayedAt?.map(shortTime).join(', ') },
];

export const CALLBACK_COLUMNS = pick(
  CALLBACK_FIELDS,
  'Callback',
  'State',
  'Gateway',
  'Session',
  'Received',
  'Why',
);

/** One line for each field of a callback: providers send two dozen. */
export const FIELD_COLUMNS: readonly Column<{ readonly name: string; readonly value: string }>[] = [
  { title: 'FIELD', cell: (item) => item.name },
  { title: 'VALUE', cell: (item) => item.value },
];

export const VERIFICATION_COLUMNS: readonly Column<VerificationView>[] = [
  ...columnsOf(VERIFICATION, 'askedAt', { operation: 'What' }, 'outcome', { durationMs: 'MS' }),
  ...columnsOf(VERIFICATION, { detail: 'Answer' }),
];
