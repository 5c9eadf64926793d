// Makes a hub refund payments, find refunds at the provider, and list them.
import { createClient } from '@connectrpc/connect';
import { parseId } from '../../../core/ids.ts';
import { RefundState } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import {
  createSession,
  GATEWAYS,
  type Payments,
  pay,
  SLOTS,
  untilStatus,
} from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const SWEEP_MS = 60_000;

/** @param times how often each gateway refunds */
export async function driveRefunds(payments: Payments, times: number): Promise<void> {
  const { hub, sessions, simulator } = payments;
  const refunds = createClient(RefundService, hub.transport);
  for (const gateway of GATEWAYS) {
    for (let turn = 0; turn < times; turn++) {
      const session = await createSession(payments, gateway);
      const { sessionId } = session;
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
      const amount = { minorUnits: 1_000n, currency: 'BDT' };
      const request = { sessionId, amount, reason: 'driven', idempotencyKey: `driven-${turn}` };
      await refunds.createRefund(request);
      const { refund } = await refunds.createRefund(request);
      const isFinal = async () => {
        const { refund: now } = await refunds.getRefund({ refundId: refund?.refundId ?? '' });
        return now?.state === RefundState.SUCCEEDED;
      };
      await until(isFinal, 'the refund is final', SWEEP_MS);
      if (gateway === 'gateway_two') simulator.refund(session.providerPaymentId, '1.00');
      await sessions.recheckChargeSession({ sessionId });
      if (turn === 0) simulator.reverse(session.providerPaymentId);
      if (turn === 0) await sessions.recheckChargeSession({ sessionId });
      await refunds.listRefunds({ sessionId });
    }
  }
  const { refunds: newest } = await refunds.listRefunds({ pageSize: 4 });
  await query(hub.databaseUrl, `update refund set review_reason = 'driven' where id = any($1::uuid[])`, [
    newest.map(({ refundId }) => parseId('rfd', refundId)),
  ]);
  const { refunds: found } = await refunds.listRefunds({ needsReview: true, pageSize: 1 });
  await refunds.resolveRefund({ refundId: found[0]?.refundId ?? '', resolution: 'driven' });
  const filters = [{}, { slot: SLOTS.gateway_one }, { state: RefundState.PENDING }, { needsReview: true }];
  for (const filter of filters) {
    const { nextPageToken } = await refunds.listRefunds({ ...filter, pageSize: 2 });
    if (nextPageToken !== '') await refunds.listRefunds({ ...filter, pageSize: 2, pageToken: nextPageToken });
  }
}
