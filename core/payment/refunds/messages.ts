// Converts refunds to the messages of their contract.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { RefundSchema, RefundState } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { nameOf, REFUND_KINDS, REFUND_ORIGINS, REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import { formatId } from '../../ids.ts';
import type { Refund, RefundStateName } from '../entities.ts';
import { moneyToProto } from '../messages.ts';

/** Requires a populated slot. */
export function refundToProto(refund: Refund): MessageInitShape<typeof RefundSchema> {
  const { amountMinor, currency, finishedAt, reviewedAt } = refund;
  return {
    refundId: formatId('rfd', refund.id),
    sessionId: formatId('chs', refund.session.id),
    slot: refund.slot.name,
    gateway: refund.gateway,
    kind: REFUND_KINDS[refund.kind],
    origin: REFUND_ORIGINS[refund.origin],
    amount: moneyToProto({ minor: amountMinor, currency }),
    reason: refund.reason,
    state: REFUND_STATES[refund.state],
    stateReason: refund.stateReason,
    gatewayRefundId: refund.gatewayRefundId ?? '',
    createdAt: timestampFromDate(refund.createdAt),
    ...(finishedAt && { finishedAt: timestampFromDate(finishedAt) }),
    reviewReason: refund.reviewReason,
    ...(reviewedAt && { reviewedAt: timestampFromDate(reviewedAt) }),
    resolution: refund.resolution,
  };
}

/** UNSPECIFIED becomes undefined. */
export function refundStateFromProto(state: RefundState): RefundStateName | undefined {
  return nameOf(REFUND_STATES, state);
}
