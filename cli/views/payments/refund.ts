// JSON schema and columns of refunds.
import type { Refund } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { REFUND_KINDS, REFUND_ORIGINS, REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import * as json from '../schema.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const REFUND = json.view('Refund', 'hub.payment.v1.Refund', {
  refundId: json.id('rfd'),
  sessionId: json.id('chs'),
  slot: json.text(),
  gateway: json.text(),
  kind: json.word(REFUND_KINDS),
  origin: json.word(REFUND_ORIGINS),
  ...MONEY.properties,
  reason: json.optional(json.text('the reason that the operator gave')),
  state: json.word(REFUND_STATES),
  stateReason: json.text(),
  gatewayRefundId: json.optional(json.text("the provider's id of the refund, once it has answered")),
  createdAt: json.time(),
  finishedAt: json.optional(json.time('when it succeeded or failed')),
  reviewReason: json.optional(json.text('why an operator has to review it')),
  reviewedAt: json.optional(json.time('when an operator marked it as reviewed')),
  resolution: json.optional(json.text('what the operator did')),
});
export type RefundView = json.ValueOf<typeof REFUND>;

export const refundView = (refund: Refund | undefined): RefundView =>
  json.viewOf(REFUND, refund, moneyView(refund?.amount));

export const REFUND_FIELDS: readonly Column<RefundView>[] = [
  { title: 'Refund', cell: (item) => item.refundId },
  { title: 'State', cell: (item) => (needsReview(item) ? `${item.state} (review)` : item.state) },
  ...columnsOf(REFUND, { stateReason: 'Why' }, 'kind', { origin: 'By' }, 'sessionId'),
  { title: 'Amount', cell: moneyText, right: true },
  { title: 'Reason', cell: (item) => item.reason },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  ...columnsOf(REFUND, { gatewayRefundId: 'Provider refund' }, 'createdAt', 'finishedAt'),
  ...columnsOf(REFUND, { reviewReason: 'Review' }, 'reviewedAt', 'resolution'),
];

export const REFUND_COLUMNS: readonly Column<RefundView>[] = [
  ...pick(REFUND_FIELDS, 'Refund', 'State', 'Amount', 'Kind', 'By', 'Session'),
  { title: 'Slot', cell: (item) => item.slot },
  ...pick(REFUND_FIELDS, 'Created'),
  { title: 'Why', cell: (item) => (needsReview(item) ? item.reviewReason : item.stateReason) },
];

function needsReview({ reviewReason, reviewedAt }: RefundView): boolean {
  return reviewReason !== undefined && reviewedAt === undefined;
}
