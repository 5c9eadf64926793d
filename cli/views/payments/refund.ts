// JSON schema and columns of refunds.
import type { Refund } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { REFUND_KINDS, REFUND_ORIGINS, REFUND_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import { id, object, optional, text, time, type ValueOf, word } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const REFUND = object(
  'Refund',
  {
    refundId: id('rfd'),
    sessionId: id('chs'),
    slot: text(),
    gateway: text(),
    kind: word(REFUND_KINDS),
    origin: word(REFUND_ORIGINS),
    ...MONEY.properties,
    reason: optional(text('the reason that the operator gave')),
    state: word(REFUND_STATES),
    stateReason: text(),
    gatewayRefundId: optional(text("the provider's id of the refund, once it has answered")),
    createdAt: time(),
    finishedAt: optional(time('when it succeeded or failed')),
    reviewReason: optional(text('why an operator has to review it')),
    reviewedAt: optional(time('when an operator marked it as reviewed')),
    resolution: optional(text('what the operator did')),
  },
  { message: 'hub.payment.v1.Refund' },
);
export type RefundView = ValueOf<typeof REFUND>;

export function refundView(refund: Refund): RefundView {
  const { reason, gatewayRefundId, finishedAt, reviewReason, reviewedAt, resolution } = refund;
  return {
    refundId: refund.refundId,
    sessionId: refund.sessionId,
    slot: refund.slot,
    gateway: refund.gateway,
    kind: wordFor(REFUND_KINDS, refund.kind),
    origin: wordFor(REFUND_ORIGINS, refund.origin),
    ...moneyView(refund.amount),
    ...(reason !== '' && { reason }),
    state: wordFor(REFUND_STATES, refund.state),
    stateReason: refund.stateReason,
    ...(gatewayRefundId !== '' && { gatewayRefundId }),
    createdAt: rfc3339(requireField(refund.createdAt, 'creation time')),
    ...(finishedAt && { finishedAt: rfc3339(finishedAt) }),
    ...(reviewReason !== '' && { reviewReason }),
    ...(reviewedAt && { reviewedAt: rfc3339(reviewedAt) }),
    ...(resolution !== '' && { resolution }),
  };
}

export const REFUND_COLUMNS: readonly Column<RefundView>[] = [
  { title: 'REFUND', cell: (item) => item.refundId },
  { title: 'STATE', cell: stateText },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'KIND', cell: (item) => item.kind },
  { title: 'BY', cell: (item) => item.origin },
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'SLOT', cell: (item) => item.slot },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'WHY', cell: (item) => (needsReview(item) ? item.reviewReason : item.stateReason) },
];

export const REFUND_FIELDS: readonly Column<RefundView>[] = [
  { title: 'Refund', cell: (item) => item.refundId },
  { title: 'State', cell: stateText },
  { title: 'Why', cell: (item) => item.stateReason },
  { title: 'Kind', cell: (item) => item.kind },
  { title: 'By', cell: (item) => item.origin },
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'Amount', cell: moneyText },
  { title: 'Reason', cell: (item) => item.reason },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Provider refund', cell: (item) => item.gatewayRefundId },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Finished', cell: (item) => shortTime(item.finishedAt) },
  { title: 'Review', cell: (item) => item.reviewReason },
  { title: 'Reviewed', cell: (item) => shortTime(item.reviewedAt) },
  { title: 'Resolution', cell: (item) => item.resolution },
];

function needsReview({ reviewReason, reviewedAt }: RefundView): boolean {
  return reviewReason !== undefined && reviewedAt === undefined;
}

function stateText(item: RefundView): string {
  return needsReview(item) ? `${item.state} (review)` : item.state;
}
