// The whole story of a charge session as hubctl prints it: everything that is known, and the same in order.
import type { InspectChargeSessionResponse } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { part } from '../reply.ts';
import type { Column } from '../table.ts';
import { type CallbackView, callbackView, type VerificationView, verificationView } from './callback.ts';
import { pairsText } from './cells.ts';
import { type ChargeSessionView, chargeSessionView } from './charge-session.ts';
import { moneyText } from './money.ts';
import { type FeeLineView, type UsageView, usageView } from './usage.ts';

export type SessionStoryView = ChargeSessionView & {
  readonly callbacks: readonly CallbackView[];
  readonly verifications: readonly VerificationView[];
  /** Null unless it was paid. */
  readonly usageLog: UsageView | null;
  /** Those of the usage log; none unless it was paid. */
  readonly fees: readonly FeeLineView[];
};

/** Something that happened: when, what, and what there is to say of it. */
export type StoryLine = { readonly at: string; readonly what: string; readonly detail: string };

export function sessionStoryView(reply: InspectChargeSessionResponse): SessionStoryView {
  const usageLog = reply.usageLog ? usageView(reply.usageLog) : null;
  return {
    ...chargeSessionView(part(reply.session, 'session')),
    callbacks: reply.callbacks.map(callbackView),
    verifications: reply.verifications.map(verificationView),
    usageLog,
    fees: usageLog?.fees ?? [],
  };
}

/** Oldest first; what happened in the same millisecond in the order in which it follows from each other. */
export function storyOf(story: SessionStoryView): StoryLine[] {
  const { usageLog } = story;
  const lines = [
    {
      at: story.createdAt,
      what: 'created',
      detail: `${moneyText(story)} through ${story.slot} (${story.gateway})`,
    },
    ...story.callbacks.map(({ callbackId, receivedAt, fields }) => ({
      at: receivedAt,
      what: 'callback',
      detail: `${callbackId}: ${essentials(fields)}`,
    })),
    ...story.verifications.map(({ askedAt, operation, outcome, detail, durationMs }) => ({
      at: askedAt,
      what: `asked: ${operation}`,
      detail: `${outcome} after ${durationMs} ms: ${detail}`,
    })),
    { at: story.statusChangedAt, what: story.status, detail: story.statusReason },
    ...(usageLog === null ? [] : settlement(usageLog)),
    ...story.callbacks.flatMap(({ callbackId, finishedAt, state, reason, attempts }) =>
      finishedAt === undefined
        ? []
        : { at: finishedAt, what: state, detail: `${callbackId} at attempt ${attempts}: ${reason}` },
    ),
  ];
  // The sort is stable.
  const sorted = lines.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  const waiting = story.callbacks.filter(({ finishedAt }) => finishedAt === undefined);
  return [
    ...sorted,
    ...waiting.map(({ callbackId, reason, attempts }) => ({
      at: '',
      what: 'waiting',
      detail: `${callbackId} after ${attempts} attempts: ${reason}`,
    })),
  ];
}

export const STORY_COLUMNS: readonly Column<StoryLine>[] = [
  { title: 'TIME', cell: ({ at }) => at },
  { title: 'WHAT', cell: ({ what }) => what },
  { title: 'DETAIL', cell: ({ detail }) => detail },
];

function settlement(entry: UsageView): StoryLine[] {
  const { settledAt: at, reversedAt } = entry;
  return [
    {
      at,
      what: 'usage log',
      detail: `${entry.usageLogId}: ${moneyText(entry)}, provider transaction ${entry.gatewayTransactionId}`,
    },
    ...entry.fees.map((fee) => ({
      at,
      what: 'fee',
      detail: `${moneyText(fee)} by ${fee.rule}, version ${fee.ruleVersion}`,
    })),
    { at, what: 'fees in all', detail: moneyText(entry.feeTotal) },
    ...(reversedAt === undefined ? [] : [{ at: reversedAt, what: 'reversed', detail: entry.usageLogId }]),
  ];
}

/** What a look at a callback is for: the outcome it claims and the payment it names. */
const ESSENTIAL = ['status', 'tran_id', 'val_id', 'paymentID', 'paymentId', 'amount', 'currency'];

function essentials(fields: Readonly<Record<string, string>>): string {
  const shown = ESSENTIAL.flatMap((name) => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  const more = Object.keys(fields).length - shown.length;
  return (
    [pairsText(Object.fromEntries(shown)), more > 0 ? `(${more} more fields)` : ''].join(' ').trim() ||
    'no fields'
  );
}
