import { expect } from 'chai';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  journal,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  statusOf,
} from '../../../support/hub/payment.ts';

const OK = { status: 200, body: 'ok' };

describe('a return from gateway_two', () => {
  let payments: Payments;
  let session: ChargeSession;
  before(async () => {
    payments = await startPayments();
  });
  // The hub may still look for other payments of earlier sessions, whose callbacks named some.
  beforeEach(async () => {
    session = await createSession(payments, 'gateway_two');
    payments.tap.forget();
  });
  after(() => payments.stop());

  const visit = (fields: Record<string, string>) => callBack(payments.hub.gatewayUrl, 'gateway_two', fields);
  const paymentOf = ({ providerPaymentId }: ChargeSession) =>
    payments.simulator.payments().find(({ ref }) => ref === providerPaymentId) ?? expect.fail('no payment');
  const statesOf = async (of: ChargeSession) => (await journal(payments, of)).map(({ state }) => state);

  it('executes the payment once and settles the session', async () => {
    expect(await pay(payments, session)).to.deep.equal(OK);
    expect(await statusOf(payments, session)).to.equal('success');
    expect(payments.tap.calls).to.deep.equal(['/gateway_two/execute']);
    const { executions, proof } = paymentOf(session);
    expect(executions).to.equal(1);
    expect((await inspect(payments, session)).usageLog).to.include({ gatewayTransactionId: proof });
  });

  it('repeated for a paid session causes no requests', async () => {
    await pay(payments, session);
    payments.tap.forget();
    for (const claim of ['paid', 'paid', 'failed', 'cancelled'] as const) {
      expect(await visit(callbackFields(session, claim))).to.deep.equal(OK);
    }
    expect(await statusOf(payments, session)).to.equal('success');
    expect(payments.tap.calls).to.deep.equal([]);
    expect(await statesOf(session)).to.deep.equal(['ignored', 'ignored', 'settled', 'settled', 'settled']);
  });

  it('without a session id is resolved by the payment id, in either spelling', async () => {
    const { paymentID = '', status = '' } = callbackFields(session, 'paid');
    payQuietly(payments, session);
    await visit({ paymentId: paymentID, status });
    expect(await statusOf(payments, session)).to.equal('success');
    await visit({ paymentID, status });
    expect(await statesOf(session)).to.deep.equal(['settled', 'settled']);
  });

  it('without a payment id is resolved by the session id', async () => {
    payQuietly(payments, session);
    await visit({ session_id: session.sessionId, status: 'success' });
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('without a status asks the provider', async () => {
    const { session_id = '', paymentID = '' } = callbackFields(session, 'paid');
    await visit({ session_id, paymentID });
    expect(await statusOf(payments, session)).to.equal('pending');
    payQuietly(payments, session);
    await visit({ session_id, paymentID });
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('with failure or cancel is accepted without a request', async () => {
    await visit(callbackFields(session, 'failed'));
    expect(await statusOf(payments, session)).to.equal('failed');
    await visit(callbackFields(session, 'cancelled'));
    expect(await statusOf(payments, session)).to.equal('cancelled');
    expect(payments.tap.calls).to.deep.equal([]);
  });

  it('that claims a success which the provider denies leaves the session unchanged', async () => {
    await visit(callbackFields(session, 'paid'));
    expect(await statusOf(payments, session)).to.equal('pending');
    expect(await statesOf(session)).to.deep.equal(['ignored']);
    payments.simulator.cancel(session.providerPaymentId);
    await payments.simulator.idle();
    await visit(callbackFields(session, 'paid'));
    expect(await statusOf(payments, session)).to.equal('cancelled');
    expect(paymentOf(session).executions).to.equal(0);
  });

  it('with the payment id of another session executes neither payment', async () => {
    const other = await createSession(payments, 'gateway_two');
    for (const each of [session, other]) payQuietly(payments, each);
    payments.tap.forget();
    await visit({ ...callbackFields(session, 'paid'), paymentID: other.providerPaymentId });
    expect(payments.tap.calls).to.deep.equal([]);
    for (const each of [session, other]) {
      expect(await statusOf(payments, each)).to.equal('pending');
      expect(paymentOf(each).executions).to.equal(0);
    }
    expect(await statesOf(session)).to.deep.equal(['mismatch']);
  });

  it('with an unknown payment id executes the stored one', async () => {
    payQuietly(payments, session);
    await visit({ ...callbackFields(session, 'paid'), paymentID: 'TRFOREIGN' });
    expect(await statusOf(payments, session)).to.equal('success');
    expect(paymentOf(session).executions).to.equal(1);
  });

  for (const session_id of ['chs_01k00000000000000000000000', '', 'nonsense']) {
    it(`with the unknown session id ${JSON.stringify(session_id)} is resolved by its payment id`, async () => {
      payQuietly(payments, session);
      await visit({ ...callbackFields(session, 'paid'), session_id });
      expect(await statusOf(payments, session)).to.equal('success');
      expect(await statesOf(session)).to.deep.equal(['settled']);
    });
  }

  it('with an unknown payment id and no session id changes nothing and causes no requests', async () => {
    await visit({ paymentID: 'TRNOBODY', status: 'success' });
    await visit({ session_id: 'chs_01k0000000000000000000000', paymentID: 'TRNOBODY', status: 'success' });
    expect(payments.tap.about('TRNOBODY')).to.deep.equal([]);
    expect((await journal(payments)).slice(0, 2).map(({ state }) => state)).to.deep.equal([
      'unresolved',
      'unresolved',
    ]);
  });

  it('with two different payment ids is refused and not stored', async () => {
    const known = (await journal(payments)).length;
    const { status, body } = await visit({ ...callbackFields(session, 'paid'), paymentId: 'TROTHER' });
    expect(status).to.equal(400);
    expect(JSON.parse(body)).to.include({ ok: false, code: 'callback_malformed' });
    expect(await journal(payments)).to.have.length(known);
    expect(payments.tap.about(session.providerPaymentId)).to.deep.equal([]);
  });

  it('with the id of a session of the other gateway changes nothing', async () => {
    const stranger = await createSession(payments, 'gateway_one');
    payments.tap.forget();
    await visit({ session_id: stranger.sessionId, status: 'cancel' });
    await visit({ session_id: stranger.sessionId, status: 'success' });
    expect(await statusOf(payments, stranger)).to.equal('pending');
    expect(await statesOf(stranger)).to.deep.equal(['mismatch', 'mismatch']);
    expect(payments.tap.about(stranger.merchantTransactionId)).to.deep.equal([]);
  });

  for (const kind of ['wrong_amount', 'wrong_currency', 'wrong_transaction'] as const) {
    it(`settles nothing when the execution has ${kind.replace('_', ' ')}`, async () => {
      payQuietly(payments, session);
      payments.simulator.faults.add({ kind, operation: 'gateway_two.execute' });
      await visit(callbackFields(session, 'paid'));
      expect(await statusOf(payments, session)).to.equal('pending');
      expect(await statesOf(session)).to.deep.equal(['mismatch']);
      expect((await inspect(payments, session)).usageLog).to.equal(undefined);
    });
  }

  it('is processed although the token has expired', async () => {
    payQuietly(payments, session);
    payments.simulator.faults.add({ kind: 'expired_token', operation: 'gateway_two.execute' });
    await visit(callbackFields(session, 'paid'));
    expect(await statusOf(payments, session)).to.equal('success');
    expect(payments.tap.about(session.providerPaymentId)).to.deep.equal([
      '/gateway_two/execute',
      '/gateway_two/execute',
    ]);
    expect(payments.tap.calls).to.include('/gateway_two/token/grant');
    expect(paymentOf(session).executions).to.equal(1);
  });
});
