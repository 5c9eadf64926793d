// The history of a session: its status changes, and the results of its callbacks.
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { type ChargeSession, ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { CHARGE_STATUSES, wordFor } from '../../../../lib/presentation/enum-names.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  type Payments,
  pay,
  payQuietly,
  startPayments,
} from '../../../support/hub/payment.ts';
import { refusal } from '../refusal.ts';

const word = (status: ChargeStatus) => wordFor(CHARGE_STATUSES, status);

describe('the history of a session', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments.stop());

  const changesOf = async (session: ChargeSession) =>
    (await inspect(payments, session)).statusChanges.map(({ from, to, verified, reason, callbackId }) =>
      [word(from), word(to), verified, reason, callbackId].join(' | '),
    );
  const recheck = ({ sessionId }: ChargeSession) => payments.sessions.recheckChargeSession({ sessionId });

  it('has every status change with its reason and callback', async () => {
    const session = await createSession(payments, 'gateway_one');
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'cancelled'));
    payQuietly(payments, session);
    await recheck(session);
    payments.simulator.reverse(session.providerPaymentId);
    await recheck(session);
    const { callbacks, session: now, statusChanges } = await inspect(payments, session);
    const [failed, cancelled] = callbacks.map(({ callbackId }) => callbackId);
    const [paid = '', reversed = ''] = statusChanges.slice(2).map(({ reason }) => reason);
    expect(await changesOf(session)).to.deep.equal([
      `pending | failed | false | a callback said FAILED | ${failed}`,
      `failed | cancelled | false | a callback said CANCELLED | ${cancelled}`,
      `cancelled | success | true | ${paid} | `,
      `success | cancelled | true | ${reversed} | `,
    ]);
    expect(now).to.include({ statusReason: reversed });
    expect(statusChanges.at(-1)?.at).to.deep.equal(now?.statusChangedAt);
    expect(callbacks.map(({ sessionStatus }) => sessionStatus)).to.deep.equal([
      ChargeStatus.FAILED,
      ChargeStatus.CANCELLED,
    ]);
  });

  it('shows for each callback the status that it was settled with', async () => {
    const session = await createSession(payments, 'gateway_two');
    await callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'failed'));
    await pay(payments, session);
    await callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'failed'));
    const told = [ChargeStatus.FAILED, ChargeStatus.SUCCESS, ChargeStatus.UNSPECIFIED]; // the last was ignored
    const { sessionId } = session;
    const { callbacks } = await payments.admin.listCallbacks({ sessionId });
    expect(callbacks.map(({ sessionStatus }) => sessionStatus).reverse()).to.deep.equal(told);
    const [paid] = callbacks.filter(({ sessionStatus }) => sessionStatus === ChargeStatus.SUCCESS);
    const { callback } = await payments.admin.getCallback({ callbackId: paid?.callbackId ?? '' });
    expect(callback).to.deep.equal(paid);
  });

  it('has the replays of its callbacks', async () => {
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    const [{ callbackId } = expect.fail('there is no callback')] = (await inspect(payments, session))
      .callbacks;
    const replayed = [1, 2].map(() => payments.admin.replayCallback({ callbackId }));
    const [first] = await Promise.all(replayed);
    expect(first?.callback?.replayedAt).to.not.deep.equal([]);
    const [callback] = (await inspect(payments, session)).callbacks;
    expect(callback?.replayedAt).to.have.length(2);
    const receivedAt = callback?.receivedAt ?? expect.fail('it was not received');
    for (const at of callback?.replayedAt ?? []) {
      expect(timestampDate(at).getTime()).to.be.at.least(timestampDate(receivedAt).getTime());
    }
  });

  it('reports another payment, and keeps the status', async () => {
    const session = await createSession(payments, 'gateway_one');
    payments.simulator.faults.add({ kind: 'wrong_amount', operation: 'gateway_one.query' });
    payQuietly(payments, session);
    await recheck(session);
    const { session: now } = await inspect(payments, session);
    expect(now).to.include({ status: ChargeStatus.PENDING });
    expect(now?.statusReason).to.match(/^a payment that does not match was found: /);
    expect(await changesOf(session)).to.deep.equal([`pending | pending | false | ${now?.statusReason} | `]);
    const { sessions } = await payments.sessions.listChargeSessions({ status: ChargeStatus.PENDING });
    expect(sessions.find(({ sessionId }) => sessionId === session.sessionId)).to.deep.equal(now);
  });

  it('begins with the request for its checkout, answered or not', async () => {
    const made = await createSession(payments, 'gateway_one');
    expect((await inspect(payments, made)).verifications).to.have.length(1);
    expect((await inspect(payments, made)).verifications[0]).to.include({
      operation: 'initiate',
      outcome: 'pending',
      detail: 'the provider created a checkout',
    });
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_two.create' });
    const refused = await refusal(createSession(payments, 'gateway_two'));
    expect(refused.message).to.match(/^slot wallet: the provider /);
    const { sessionId = expect.fail('the refusal names no session') } = refused;
    const { verifications } = await payments.sessions.inspectChargeSession({ sessionId });
    expect(verifications.at(-1)).to.include({ operation: 'create', outcome: 'unavailable' });
  });

  it('settles a session without a checkout as failed, whatever payment its callback names', async () => {
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_two.create' });
    const { sessionId = '' } = await refusal(createSession(payments, 'gateway_two'));
    const query = new URLSearchParams({ session_id: sessionId, paymentID: 'TR001', status: 'success' });
    await fetch(`${payments.hub.gatewayUrl}/v1/webhooks/gateway_two?${query}`);
    const { callbacks } = await payments.sessions.inspectChargeSession({ sessionId });
    expect(callbacks[0]?.reason).to.equal('no checkout was created');
  });
});
