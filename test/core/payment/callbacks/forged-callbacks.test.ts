import { expect } from 'chai';
import { MAX_CLAIMS } from '../../../../core/payment/settlement/decide.ts';
import { CallbackState, ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  journal,
  type Payments,
  pay,
  startPayments,
  statusOf,
} from '../../../support/hub/payment.ts';

import { query } from '../../../support/postgres/databases.ts';

describe('an attacker who knows a callback address and its ids', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  beforeEach(() => payments.tap.forget());
  after(() => payments.stop());

  const callsBack = (gateway: string, fields: Record<string, string>) =>
    callBack(payments.hub.gatewayUrl, gateway, fields);

  for (const gateway of GATEWAYS) {
    it(`cannot mark a session of ${gateway} as paid`, async () => {
      const session = await createSession(payments, gateway);
      await callsBack(gateway, callbackFields(session, 'paid', 'FORGED'));
      expect(await statusOf(payments, session)).to.equal('pending');
      expect((await inspect(payments, session)).usageLog).to.equal(undefined);
    });

    it(`cannot revoke the success of a session of ${gateway}`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      payments.tap.forget();
      for (const claim of ['failed', 'cancelled'] as const) {
        expect((await callsBack(gateway, callbackFields(session, claim))).status).to.equal(200);
      }
      expect(await statusOf(payments, session)).to.equal('success');
      const states = (await journal(payments, session)).map(({ state }) => state);
      expect(states).to.deep.equal(['ignored', 'ignored', 'settled']);
      expect(payments.tap.calls).to.deep.equal([]);
    });

    it(`cannot prevent a payment of a session of ${gateway}`, async () => {
      const session = await createSession(payments, gateway);
      for (const claim of ['failed', 'cancelled', 'failed'] as const) {
        await callsBack(gateway, callbackFields(session, claim));
      }
      expect(await statusOf(payments, session)).to.equal('failed');
      await pay(payments, session);
      expect(await statusOf(payments, session)).to.equal('success');
      expect((await inspect(payments, session)).usageLog).to.not.equal(undefined);
    });
  }

  for (const gateway of GATEWAYS) {
    it(`cannot change the status of a session of ${gateway} repeatedly`, async () => {
      const session = await createSession(payments, gateway);
      payments.tap.forget();
      const contradict = (index: number) =>
        callsBack(gateway, callbackFields(session, index % 2 === 0 ? 'failed' : 'cancelled'));
      for (let index = 0; index < MAX_CLAIMS; index++) await contradict(index);
      expect(payments.tap.calls).to.deep.equal([]);
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: 40 }, (_, index) => contradict(index)));
      const pauses = Math.floor((performance.now() - startedAt) / 5_000);
      const { statusChanges } = await inspect(payments, session);
      expect(statusChanges.map(({ verified }) => verified)).to.deep.equal(Array(MAX_CLAIMS).fill(false));
      // From then on the provider is queried, within the rate limit of callbacks: five verifications, and one
      // after each pause. A verification makes at most two calls.
      expect(payments.tap.calls.length).to.be.within(1, 2 * (5 + pauses));
    });

    it(`cannot hide the outcome of a session of ${gateway} by contradictions`, async () => {
      const session = await createSession(payments, gateway);
      for (const claim of ['failed', 'cancelled', 'failed', 'cancelled', 'failed'] as const) {
        await callsBack(gateway, callbackFields(session, claim));
      }
      payments.simulator.faults.add({ kind: 'lost', operation: 'callback', ref: session.providerPaymentId });
      payments.simulator.cancel(session.providerPaymentId);
      await callsBack(gateway, callbackFields(session, 'cancelled'));
      const { session: now } = await payments.sessions.getChargeSession({ sessionId: session.sessionId });
      expect(now).to.include({ status: ChargeStatus.CANCELLED, statusVerified: true });
    });
  }

  it('cannot use up the turn or the verifications of a session that the callback contradicts', async () => {
    const [session, other] = [
      await createSession(payments, 'gateway_one'),
      await createSession(payments, 'gateway_one'),
    ];
    const fields = { ...callbackFields(session, 'paid', 'FORGED'), tran_id: other.merchantTransactionId };
    const states = async () => (await journal(payments, session)).map(({ state }) => state);
    const turn = () =>
      query(
        payments.hub.databaseUrl,
        'select callback_verifications as asked, verifying_until from charge_session where provider_payment_id = $1',
        [session.providerPaymentId],
      );
    // Together with one that does not contradict it: they share the statement.
    await Promise.all([
      callsBack('gateway_one', fields),
      callsBack('gateway_one', callbackFields(other, 'paid', 'FORGED')),
    ]);
    expect(await states()).to.deep.equal(['mismatch']);
    expect(await turn()).to.deep.equal([{ asked: 0, verifying_until: null }]);
    await callsBack('gateway_one', callbackFields(session, 'paid', 'FORGED'));
    expect(await turn()).to.deep.equal([{ asked: 1, verifying_until: null }]);
  });

  it('learns nothing from the responses', async () => {
    const session = await createSession(payments, 'gateway_two');
    const answers = await Promise.all([
      callsBack('gateway_two', callbackFields(session, 'paid')),
      callsBack('gateway_two', callbackFields(session, 'cancelled')),
      callsBack('gateway_two', { ...callbackFields(session, 'paid'), paymentID: 'TRFOREIGN' }),
      callsBack('gateway_two', { session_id: 'chs_01k0000000000000000000000', status: 'success' }),
      callsBack('gateway_two', { status: 'whatever' }),
    ]);
    for (const answer of answers) expect(answer).to.deep.equal({ status: 200, body: 'ok' });
  });

  it('causes no requests to providers for unknown sessions, and is listed', async () => {
    const known = (await journal(payments)).length;
    const unknown = (index: number) =>
      index % 2 === 0
        ? callsBack('gateway_one', { status: 'VALID', tran_id: `UNKNOWN${index}`, val_id: 'FORGED' })
        : callsBack('gateway_two', { status: 'success', paymentID: `UNKNOWN${index}` });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => unknown(index)));
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
    expect(payments.tap.about('UNKNOWN')).to.deep.equal([]);
    expect(await journal(payments)).to.have.length(known + 200);
    const { callbacks } = await payments.admin.listCallbacks({
      state: CallbackState.UNRESOLVED,
      gateway: 'gateway_two',
      pageSize: 1_000,
    });
    expect(callbacks.filter(({ fields }) => fields['paymentID']?.startsWith('UNKNOWN'))).to.have.length(100);
    const [jobs] = await query<{ left: number }>(
      payments.hub.databaseUrl,
      `select count(*)::int as left from job where name = 'callback' and state in ('created', 'retry', 'active')`,
    );
    expect(jobs).to.deep.equal({ left: 0 });
  });
});
