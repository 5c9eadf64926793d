// Payments with a high risk level, and slots that hold them for review.
import { expect } from 'chai';
import { type ChargeSession, ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  journal,
  type Payments,
  payQuietly,
  SLOTS,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { eventClient, eventsOf } from '../../event/event-scene.ts';
import { refusal } from '../refusal.ts';

const HOUR_MS = 3_600_000;
const WITHIN_A_DAY = 1_000_000;

describe('a payment that the provider rates risky', () => {
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  let session: ChargeSession;
  before(async () => {
    payments = await startPayments({
      settings: { sweepAfterMs: [HOUR_MS] },
      clock: () => new Date(Date.now() + aheadMs),
    });
  });
  beforeEach(async () => {
    await hold('hold');
    payments.simulator.faults.clear();
    session = await createSession(payments, 'gateway_one');
  });
  after(() => payments.stop());

  const hold = (riskyPayments: 'hold' | 'settle') =>
    payments.admin.updateSlot({ slot: SLOTS.gateway_one, options: { riskyPayments } });
  const notify = (fields: Record<string, string>) => callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
  /** From now on every answer about the payment says that it is risky. */
  const rateRisky = (of: ChargeSession): void => {
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({
        kind: 'risky',
        operation,
        ref: of.providerPaymentId,
        times: WITHIN_A_DAY,
      });
    }
  };
  const payRiskily = (of = session): Record<string, string> => {
    rateRisky(of);
    return callbackFields(of, 'paid', payQuietly(payments, of));
  };
  const now = async (of = session): Promise<ChargeSession> =>
    (await payments.sessions.getChargeSession({ sessionId: of.sessionId })).session ??
    expect.fail('the session is gone');
  const release = (of = session) =>
    payments.admin.releaseChargeSession({ sessionId: of.sessionId, reason: 'customer known' });
  const held = async (): Promise<string[]> =>
    (await payments.sessions.listChargeSessions({ held: true })).sessions.map(({ sessionId }) => sessionId);
  const states = async () => (await journal(payments, session)).map(({ state }) => state);
  const usageLogs = () =>
    query(
      payments.hub.databaseUrl,
      'select from usage_log u join charge_session c on c.id = u.id where c.merchant_transaction_id = $1',
      [session.merchantTransactionId],
    );

  it('has no event while it is held, and one when it settles', async () => {
    await notify(payRiskily());
    expect((await now()).heldAt).to.not.equal(undefined);
    await release();
    await untilStatus(payments, session, 'success');
    const [event, ...others] = await eventsOf(eventClient(payments.hub), session.sessionId, 1);
    expect([event?.type, ...others]).to.deep.equal(['session.succeeded']);
  });

  it('settles unless its slot holds such payments, and shows its rating', async () => {
    await hold('settle');
    await notify(payRiskily());
    expect(await now()).to.include({ status: ChargeStatus.SUCCESS, riskLevel: 1, riskTitle: 'High Risk' });
    expect((await now()).heldAt).to.equal(undefined);
  });

  it('is held for review, and shows why', async () => {
    await notify(payRiskily());
    expect(await now()).to.deep.include({
      status: ChargeStatus.PENDING,
      statusVerified: true,
      statusReason: 'held for review: the provider says VALID: 100.00 BDT, risk_level 1 (High Risk)',
      riskLevel: 1,
      riskTitle: 'High Risk',
      gatewayTransactionId: '',
    });
    expect((await now()).heldAt).to.not.equal(undefined);
    expect(await held()).to.deep.equal([session.sessionId]);
    expect(await states()).to.deep.equal(['settled']);
    const { usageLog, statusChanges } = await inspect(payments, session);
    expect(usageLog).to.equal(undefined);
    expect(statusChanges.at(-1)).to.include({ to: ChargeStatus.PENDING, verified: true });
    await release();
  });

  it('settles once when an operator releases it, despite concurrent events', async () => {
    const fields = payRiskily();
    await notify(fields);
    const { sessionId } = session;
    await Promise.all([
      ...Array.from({ length: 8 }, () => notify(fields)),
      payments.sessions.recheckChargeSession({ sessionId }),
      release(),
      release(),
    ]);
    await untilStatus(payments, session, 'success');
    expect(await usageLogs()).to.have.length(1);
    expect(await held()).to.deep.equal([]);
    const { releasedAt, heldAt } = await now();
    expect(releasedAt).to.not.equal(undefined);
    expect(heldAt).to.equal(undefined);
    const entries = await query<{ detail: unknown }>(
      payments.hub.databaseUrl,
      `select detail from audit_entry where action = 'charge_session.release' and subject = $1`,
      [sessionId],
    );
    expect(entries).to.deep.equal([{ detail: { reason: 'customer known' } }]);
    const { statusChanges } = await inspect(payments, session);
    expect(statusChanges.map(({ reason }) => reason)).to.include('released for settlement: customer known');
    expect(await release()).to.include({ unchanged: true });
  });

  it('settles when the provider rates it safe later', async () => {
    await notify(payRiskily());
    payments.simulator.faults.clear();
    aheadMs += HOUR_MS;
    await untilStatus(payments, session, 'success');
    expect(await now()).to.deep.include({ riskLevel: 0, riskTitle: 'Safe' });
    expect(await held()).to.deep.equal([]);
  });

  it('is verified as long as it is held, even after a day', async () => {
    await notify(payRiskily());
    for (let day = 0; day < 3; day++) {
      const asked = (await inspect(payments, session)).verifications.length;
      aheadMs += 24 * HOUR_MS;
      await until(
        async () => (await inspect(payments, session)).verifications.length > asked,
        'the sweep asked again',
      );
      expect(await statusOf(payments, session)).to.equal('pending');
    }
    payments.simulator.faults.clear();
    aheadMs += HOUR_MS;
    await untilStatus(payments, session, 'success');
  });

  it('is verified again if the slot no longer holds such payments', async () => {
    const fields = payRiskily();
    payments.tap.hold();
    const notified = notify(fields);
    await until(() => payments.tap.held() > 0, 'the provider receives a query');
    await hold('settle');
    payments.tap.release();
    await notified;
    const [callback] = await journal(payments, session);
    expect(callback).to.include({
      state: 'ignored',
      reason: "no longer held (released, or the slot's option changed): it is verified again",
    });
    await untilStatus(payments, session, 'success');
  });

  it('can be released while the provider is down, and settles later', async () => {
    await notify(payRiskily());
    payments.simulator.faults.clear();
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.query', times: WITHIN_A_DAY });
    const { session: released } = await release();
    expect(released).to.include({
      status: ChargeStatus.PENDING,
      statusReason: 'released for settlement: customer known',
    });
    expect(await held()).to.deep.equal([]);
    payments.simulator.faults.clear();
    rateRisky(session);
    aheadMs += HOUR_MS;
    await untilStatus(payments, session, 'success');
    expect(await usageLogs()).to.have.length(1);
  });

  it('stays held despite forged callbacks', async () => {
    await notify(payRiskily());
    for (const claim of ['failed', 'cancelled'] as const) await notify(callbackFields(session, claim));
    await notify(callbackFields(session, 'paid', 'FORGED'));
    expect(await statusOf(payments, session)).to.equal('pending');
    expect(await held()).to.deep.equal([session.sessionId]);
    expect(await states()).to.deep.equal(['settled', 'ignored', 'ignored', 'settled']);
    await release();
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('is not released if it was reversed meanwhile', async () => {
    await notify(payRiskily());
    payments.simulator.reverse(session.providerPaymentId);
    await release();
    expect(await statusOf(payments, session)).to.equal('cancelled');
    expect(await usageLogs()).to.have.length(0);
    expect(await refusal(release())).to.include({ code: 'session_not_held', field: 'sessionId' });
  });

  it('settles at the next verification after its slot stops holding payments', async () => {
    await notify(payRiskily());
    await hold('settle');
    aheadMs += HOUR_MS;
    await untilStatus(payments, session, 'success');
    expect(await held()).to.deep.equal([]);
  });

  it('is held even if a forged callback had failed its session', async () => {
    await notify(callbackFields(session, 'failed'));
    await notify(payRiskily());
    expect(await now()).to.include({ status: ChargeStatus.PENDING, statusVerified: true });
    await release();
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('cannot be released if no payment is held', async () => {
    expect(await refusal(release())).to.include({ code: 'session_not_held' });
    const unknown = { sessionId: 'chs_01k00000000000000000000000', reason: 'why' };
    expect(await refusal(payments.admin.releaseChargeSession(unknown))).to.include({
      code: 'session_unknown',
    });
  });
});
