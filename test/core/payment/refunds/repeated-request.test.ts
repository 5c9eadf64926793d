// A refund at gateway_one whose answer was lost, and which the hub requests again: made once, or reviewed.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundState } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../../gen/hub/payment/v1/refund_service_pb.ts';
import { createSession, type Payments, pay, startPayments } from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('a refund that is requested again', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments?.stop());

  /** The state of the refund after two looks that do not find it, so that the hub requests it again. */
  const refundTwice = async (fault: 'empty' | 'error_500', meanwhile: (ref: string) => void) => {
    const { sessions, simulator, hub } = payments;
    const refunds = createClient(RefundService, hub.transport);
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    const { sessionId, providerPaymentId: ref } = session;
    simulator.faults.add({ kind: fault, operation: 'gateway_one.refund', ref });
    const { refund } = await refunds.createRefund({ sessionId, reason: 'Returned' });
    const { refundId = '' } = refund ?? {};
    expect(refund?.state).to.equal(RefundState.PENDING);
    meanwhile(ref);
    const read = async () => (await refunds.getRefund({ refundId })).refund;
    const isFinal = async (): Promise<boolean> => {
      await query(
        hub.databaseUrl,
        `update refund set missing_since = missing_since - interval '2 minutes' where state = 'pending'`,
      );
      await sessions.recheckChargeSession({ sessionId });
      return (await read())?.state !== RefundState.PENDING;
    };
    await until(isFinal, 'the refund is final');
    await sessions.recheckChargeSession({ sessionId });
    const { session: now } = await sessions.getChargeSession({ sessionId });
    const [booked] = await query<{ minor: string }>(
      hub.databaseUrl,
      `select sum(u.amount_minor)::text as minor from usage_log u join charge_session c on c.id = u.session_id
       where c.provider_payment_id = '${ref}'`,
    );
    const made = simulator.refunds().filter((each) => each.ref === ref);
    return { refund: await read(), status: now?.status, booked: booked?.minor, made: made.length };
  };

  it('is made once', async () => {
    const { refund, status, booked, made } = await refundTwice('empty', () => {});
    expect(refund).to.include({ state: RefundState.SUCCEEDED, reviewReason: '' });
    expect({ status, booked, made }).to.deep.equal({ status: ChargeStatus.SUCCESS, booked: '0', made: 1 });
  });

  it('is reviewed by an operator if the provider refuses it, and does not hide a reversal', async () => {
    const { refund, status, booked } = await refundTwice('error_500', (ref) => {
      payments.simulator.refund(ref);
    });
    expect(refund).to.include({ state: RefundState.FAILED });
    expect(refund?.reviewReason).to.match(/^the provider refused a repeated request/);
    expect({ status, booked }).to.deep.equal({ status: ChargeStatus.CANCELLED, booked: '0' });
  });
});
