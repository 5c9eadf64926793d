import { expect } from 'chai';
import { type ChargeSession, ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  journal,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  statusOf,
} from '../../../support/hub/payment.ts';
import { until } from '../../../support/until.ts';
import { refusal } from '../refusal.ts';

describe('a recheck', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments.stop());

  const recheck = ({ sessionId }: ChargeSession) => payments.sessions.recheckChargeSession({ sessionId });

  for (const gateway of GATEWAYS) {
    it(`settles a session of ${gateway} after a lost callback, and returns the provider's answer`, async () => {
      const session = await createSession(payments, gateway);
      expect((await recheck(session)).verification).to.include({ operation: 'query', outcome: 'pending' });
      expect(await statusOf(payments, session)).to.equal('pending');
      payQuietly(payments, session);
      const { session: now, verification } = await recheck(session);
      expect(now?.gatewayTransactionId).to.not.equal('');
      expect(verification).to.include({ outcome: 'paid' });
      expect(await statusOf(payments, session)).to.equal('success');
    });

    it(`alone detects the reversal of a payment at ${gateway}`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      payments.simulator.reverse(session.providerPaymentId);
      const proof = (await inspect(payments, session)).session?.gatewayTransactionId;
      for (const claim of ['failed', 'cancelled', 'paid'] as const) {
        await callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, claim, proof));
      }
      expect(await statusOf(payments, session)).to.equal('success');
      const { verification } = await recheck(session);
      expect(verification).to.include({ operation: 'query', outcome: 'reversed' });
      expect(await statusOf(payments, session)).to.equal('cancelled');
      const { usageLog } = await inspect(payments, session);
      expect(usageLog?.reversedAt).to.not.equal(undefined);

      await callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'paid', proof));
      expect(await statusOf(payments, session), 'after a callback that repeats the success').to.equal(
        'cancelled',
      );
    });

    it(`leaves a valid payment at ${gateway} unchanged, and moves no money`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      const before = await inspect(payments, session);
      payments.tap.forget();
      expect((await recheck(session)).verification).to.include({ operation: 'query', outcome: 'paid' });
      // One call verifies the payment. The others look for refunds and, at gateway_one, for duplicate payments.
      expect(payments.tap.calls).to.have.length(3);
      expect(payments.tap.calls).to.not.include('/gateway_two/execute');
      const { usageLog, session: after } = await inspect(payments, session);
      expect(after).to.deep.equal(before.session);
      expect(usageLog).to.deep.equal(before.usageLog);
    });
  }

  it('cancels a session whose payment was reversed before the hub knew of it', async () => {
    const session = await createSession(payments, 'gateway_one');
    payQuietly(payments, session);
    payments.simulator.reverse(session.providerPaymentId);
    expect((await recheck(session)).verification).to.include({ outcome: 'reversed' });
    expect(await statusOf(payments, session)).to.equal('cancelled');
    expect((await inspect(payments, session)).usageLog).to.equal(undefined);
  });

  for (const gateway of GATEWAYS) {
    it(`keeps a reversal confirmed by ${gateway} despite callbacks`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      payments.simulator.reverse(session.providerPaymentId);
      const { session: reversed } = await recheck(session);
      expect(reversed).to.include({ status: ChargeStatus.CANCELLED, statusVerified: true });
      await callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'failed'));
      expect((await inspect(payments, session)).session).to.deep.equal(reversed);
      expect((await journal(payments, session))[0]).to.include({
        state: 'ignored',
        reason: 'the provider answered otherwise',
      });
    });
  }

  it('keeps a failure confirmed by the provider despite callbacks, and marks it as verified', async () => {
    const session = await createSession(payments, 'gateway_one');
    payments.simulator.faults.add({ kind: 'lost', operation: 'callback', ref: session.providerPaymentId });
    payments.simulator.fail(session.providerPaymentId);
    const claim = (said: 'failed' | 'cancelled') =>
      callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, said));
    await claim('failed');
    const { session: claimed } = await inspect(payments, session);
    expect(claimed).to.include({ status: ChargeStatus.FAILED, statusVerified: false });
    const { session: confirmed } = await recheck(session);
    expect(confirmed).to.deep.include({
      status: ChargeStatus.FAILED,
      statusVerified: true,
      statusReason: 'the provider says FAILED',
      statusChangedAt: claimed?.statusChangedAt,
    });
    await claim('cancelled');
    await claim('failed');
    expect((await inspect(payments, session)).session).to.deep.equal(confirmed);
    expect((await journal(payments, session)).map(({ state }) => state)).to.deep.equal([
      'settled',
      'ignored',
      'settled',
    ]);
  });

  it('reports that the provider did not answer, and leaves the session unchanged', async () => {
    const session = await createSession(payments, 'gateway_one');
    payments.simulator.faults.add({ kind: 'html', operation: 'gateway_one.query' });
    const { code, message } = await refusal(recheck(session));
    expect(code).to.equal('provider_unavailable');
    expect(message).to.equal("the provider's answer is not JSON");
    expect(await statusOf(payments, session)).to.equal('pending');
    expect((await inspect(payments, session)).verifications.at(-1)).to.include({ outcome: 'unavailable' });
  });

  it('waits for a callback in progress instead of making a second request', async () => {
    const session = await createSession(payments, 'gateway_two');
    payQuietly(payments, session);
    payments.tap.forget();
    payments.tap.hold();
    const callback = callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'paid'));
    await until(() => payments.tap.held() === 1, 'the provider has received a query');
    const rechecks = [recheck(session), recheck(session)];
    payments.tap.release();
    await Promise.all([callback, ...rechecks]);
    expect(payments.tap.peak(session.providerPaymentId)).to.equal(1);
    // A recheck that begins after the settlement queries the status again.
    const calls = payments.tap.about(session.providerPaymentId);
    expect(calls.slice(0, 2)).to.deep.equal(['/gateway_two/execute', '/gateway_two/payment/status']);
    expect(calls.filter((path) => path === '/gateway_two/execute')).to.have.length(1);
    expect(await statusOf(payments, session)).to.equal('success');
    expect((await journal(payments, session))[0]).to.include({ state: 'settled' });
  });
});
