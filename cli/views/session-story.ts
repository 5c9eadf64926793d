// The whole story of a charge session as hubctl prints it: everything that is known, and the same in order.
import type { StatusChange } from '../../gen/hub/payment/v1/payment_pb.ts';
import type {
  InspectChargeSessionResponse,
  RecheckChargeSessionResponse,
} from '../../gen/hub/payment/v1/payment_service_pb.ts';
import type { StoryLine } from '../../story/session-story.ts';
import { CHARGE_STATUSES, wordFor } from '../../story/words.ts';
import { part } from '../reply.ts';
import {
  boolean,
  described,
  id,
  list,
  nullable,
  type Of,
  object,
  optional,
  text,
  time,
  word,
} from '../shapes.ts';
import type { Column } from '../table.ts';
import { CALLBACK, callbackView, VERIFICATION, verificationView } from './callback.ts';
import { rfc3339 } from './cells.ts';
import { CHARGE_SESSION, CHARGE_SESSION_FIELDS, chargeSessionView } from './charge-session.ts';
import { FEE_LINE, USAGE_LOG, usageView } from './usage.ts';

export const STATUS_CHANGE = object(
  'StatusChange',
  {
    at: time(),
    from: word(CHARGE_STATUSES),
    to: word(CHARGE_STATUSES),
    verified: boolean(),
    reason: text(),
    callbackId: optional(id('cb', 'the callback that led to it')),
  },
  { message: 'hub.payment.v1.StatusChange' },
);
type StatusChangeView = Of<typeof STATUS_CHANGE>;

export const SESSION_STORY = object('SessionStory', {
  ...CHARGE_SESSION.properties,
  statusChanges: list(
    STATUS_CHANGE,
    'how its status came about, oldest first, as far as the audit log goes back',
  ),
  callbacks: list(CALLBACK, 'its callbacks, oldest first'),
  verifications: list(VERIFICATION, 'what the provider was asked and answered, oldest first'),
  usageLog: nullable(USAGE_LOG, 'its usage log; null unless it was paid'),
  fees: list(FEE_LINE, 'the fees of the usage log'),
});
export type SessionStoryView = Of<typeof SESSION_STORY>;

/** A session after its provider was asked. */
export const RECHECKED_SESSION = object('RecheckedSession', {
  ...CHARGE_SESSION.properties,
  verification: optional(
    described(
      VERIFICATION,
      'what was asked and answered; missing if the session has no checkout to ask about',
    ),
  ),
});

export function recheckedView(reply: RecheckChargeSessionResponse): Of<typeof RECHECKED_SESSION> {
  return {
    ...chargeSessionView(part(reply.session, 'session')),
    ...(reply.verification && { verification: verificationView(reply.verification) }),
  };
}

export const RECHECKED_FIELDS: readonly Column<Of<typeof RECHECKED_SESSION>>[] = [
  ...CHARGE_SESSION_FIELDS,
  {
    title: 'Provider says',
    cell: ({ verification: it }) => it && `${it.operation}: ${it.outcome}, ${it.detail}`,
  },
];

export function sessionStoryView(reply: InspectChargeSessionResponse): SessionStoryView {
  const usageLog = reply.usageLog ? usageView(reply.usageLog) : null;
  return {
    ...chargeSessionView(part(reply.session, 'session')),
    statusChanges: reply.statusChanges.map(statusChangeView),
    callbacks: reply.callbacks.map(callbackView),
    verifications: reply.verifications.map(verificationView),
    usageLog,
    fees: usageLog?.fees ?? [],
  };
}

function statusChangeView({ at, from, to, verified, reason, callbackId }: StatusChange): StatusChangeView {
  return {
    at: rfc3339(part(at, 'time of the change')),
    from: wordFor(CHARGE_STATUSES, from),
    to: wordFor(CHARGE_STATUSES, to),
    verified,
    reason,
    ...(callbackId !== '' && { callbackId }),
  };
}

export const STORY_COLUMNS: readonly Column<StoryLine>[] = [
  { title: 'TIME', cell: ({ at }) => at && rfc3339(at) },
  { title: 'WHAT', cell: ({ what }) => what },
  { title: 'DETAIL', cell: ({ detail }) => detail },
];
