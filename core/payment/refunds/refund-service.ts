// RefundService: the RPCs that refund payments, and list refunds and disputes.
import type { ServiceImpl } from '@connectrpc/connect';
import type { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { nameOf, REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import { actorOf } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import { refundToProto } from '../messages.ts';
import type { CreateRefund } from './create-refund.ts';
import type { createRefunds } from './refund-admin.ts';

export function createRefundService(
  createRefund: CreateRefund,
  refunds: ReturnType<typeof createRefunds>,
): ServiceImpl<typeof RefundService> {
  return {
    async createRefund({ amount, ...request }, context) {
      const money = amount && { minor: amount.minorUnits, currency: amount.currency };
      const id = await createRefund({ ...request, amount: money }, actorOf(context));
      return { refund: refundToProto(await refunds.get(formatId('rfd', id))) };
    },

    async getRefund({ refundId }) {
      return { refund: refundToProto(await refunds.get(refundId)) };
    },

    async listRefunds(request) {
      const filter = { ...request, state: nameOf(REFUND_STATES, request.state) };
      const { items, nextPageToken } = await refunds.list(filter, request);
      return { refunds: items.map(refundToProto), nextPageToken };
    },

    async resolveRefund({ refundId, resolution }, context) {
      const { refund, unchanged } = await refunds.resolve(refundId, resolution, actorOf(context));
      return { refund: refundToProto(refund), unchanged };
    },
  };
}
