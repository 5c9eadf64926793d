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
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const RECEIVED = { status: 200, body: '{"message":"received"}' };

describe('a notification of gateway_one', () => {
  let payments: Payments;
  let session: ChargeSession;
  before(async () => {
    payments = await startPayments();
  });
  beforeEach(async () => {
    session = await createSession(payments, 'gateway_one');
    payments.tap.forget();
  });
  after(() => payments.stop());
  // A callback that names another payment causes a sweep query, which the next test must not see.
  afterEach(() =>
    until(async () => {
      const marked = 'select from charge_session where other_payment_since is not null';
      return (await query(payments.hub.databaseUrl, marked)).length === 0;
    }, 'the sweep has asked about other payments'),
  );

  const notify = (fields: Record<string, string>) => callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
  /** What came of the only callback of the session. */
  const only = async (of: ChargeSession = session) => {
    const entries = await journal(payments, of);
    expect(entries).to.have.length(1);
    return entries[0] ?? expect.fail();
  };
  /** The hub has asked the provider about none of the sessions since it created them. */
  const expectNoQuery = async (...sessions: ChargeSession[]) => {
    for (const each of sessions) {
      const { verifications } = await inspect(payments, each);
      expect(verifications.map(({ operation }) => operation)).to.deep.equal(['initiate']);
    }
  };

  it('of a payment settles the session by the answer of the validation API', async () => {
    const fields = callbackFields(session, 'paid', payQuietly(payments, session));
    const digests = { verify_sign: 'md5', verify_key: 'amount,status', verify_sign_sha2: 'sha2' };
    expect(await notify({ ...fields, ...digests, store_id: 'store' })).to.deep.equal(RECEIVED);
    const history = await inspect(payments, session);
    expect(await statusOf(payments, session)).to.equal('success');
    expect(history.session?.statusReason).to.equal('the provider says VALID: 100.00 BDT');
    expect(history.verifications.map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['initiate', 'pending'],
      ['validate', 'paid'],
    ]);
    expect(history.verifications[1]?.callbackId).to.equal(history.callbacks[0]?.callbackId);
    expect(history.usageLog?.gatewayTransactionId)
      .to.equal(history.session?.gatewayTransactionId)
      .and.not.equal('');
    expect(await only()).to.deep.include({ state: 'settled', attempts: 1 });
    // The store's id and the digests over its password are not kept.
    const { session_id: _, ...others } = fields;
    const { '[other fields]': unread, ...kept } = history.callbacks[0]?.fields ?? {};
    expect(kept).to.deep.equal(others);
    expect(unread, 'verify_key').to.match(/^1, 32 bytes, SHA-256 /);
  });

  it('settles a payment that was validated before', async () => {
    const proof = payQuietly(payments, session);
    const { storeId, storePassword } = payments.simulator.credentials.gateway_one;
    const question = new URLSearchParams({ val_id: proof, store_id: storeId, store_passwd: storePassword });
    const url = `${payments.simulator.urls.gateway_one}/validator/api/validationserverAPI.php?${question}`;
    expect(await (await fetch(url)).json()).to.include({ status: 'VALID' });
    await notify({ ...callbackFields(session, 'paid', proof), status: 'VALIDATED' });
    expect((await inspect(payments, session)).session?.statusReason).to.contain('VALIDATED');
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('without a session id is resolved by its transaction id', async () => {
    const { session_id: _, ...fields } = callbackFields(session, 'paid', payQuietly(payments, session));
    expect(await notify(fields)).to.deep.equal(RECEIVED);
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('is never resolved by an order reference or other fields', async () => {
    const proof = payQuietly(payments, session);
    const { orderReference, sessionId, providerPaymentId } = session;
    const { session_id: _, ...fields } = callbackFields(session, 'paid', proof);
    for (const tran_id of [orderReference, sessionId, providerPaymentId]) {
      await notify({ ...fields, tran_id, value_a: sessionId, order: orderReference });
    }
    expect(payments.tap.calls).to.deep.equal([]);
    expect(await statusOf(payments, session)).to.equal('pending');
    const [latest] = await journal(payments);
    expect(latest).to.include({ state: 'unresolved', sessionId: '' });
  });

  it("with another amount is settled by the provider's answer", async () => {
    const proof = payQuietly(payments, session);
    await notify({ ...callbackFields(session, 'paid', proof), amount: '1.00', currency_amount: '1.00' });
    expect(await statusOf(payments, session)).to.equal('success');
    expect((await inspect(payments, session)).usageLog?.amount).to.include({ minorUnits: 10_000n });
  });

  for (const [kind, reason] of [
    ['wrong_amount', '1100.00 BDT, not 100.00 BDT'],
    ['wrong_currency', '100.00 EUR, not 100.00 BDT'],
    ['wrong_transaction', 'of another transaction'],
  ] as const) {
    it(`settles nothing while the provider's answers have ${kind.replace('_', ' ')}`, async () => {
      const proof = payQuietly(payments, session);
      for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
        payments.simulator.faults.add({ kind, operation });
      }
      await notify(callbackFields(session, 'paid', proof));
      expect(await statusOf(payments, session)).to.equal('pending');
      const { state, reason: noted } = await only();
      expect(state).to.equal('mismatch');
      expect(noted).to.contain(reason);
      expect((await inspect(payments, session)).usageLog).to.equal(undefined);
    });
  }

  it('with the validation id of another session settles neither session by it', async () => {
    const other = await createSession(payments, 'gateway_one');
    await pay(payments, other);
    const { gatewayTransactionId } = (await inspect(payments, other)).session ?? expect.fail('no session');
    await notify(callbackFields(session, 'paid', gatewayTransactionId));
    expect(await statusOf(payments, session)).to.equal('pending');
    expect(await only()).to.include({
      state: 'mismatch',
      reason: 'the provider says VALIDATED of another transaction',
    });
    expect(await only(other)).to.include({ state: 'settled' });
  });

  it('with a forged validation id does not hide a paid session', async () => {
    payQuietly(payments, session);
    await notify(callbackFields(session, 'paid', 'FORGED'));
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('validates exactly its validation id, with any characters', async () => {
    // Unescaped, it would be the right one.
    const proof = `${payQuietly(payments, session)}&x=y#z`;
    await notify(callbackFields(session, 'paid', proof));
    const steps = (await inspect(payments, session)).verifications;
    expect(steps.map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['initiate', 'pending'],
      ['validate', 'mismatch'],
      ['query', 'paid'],
    ]);
    expect((await journal(payments, session))[0]?.fields).to.include({ val_id: proof });
  });

  it('with the ids of two sessions changes neither and causes no requests', async () => {
    const other = await createSession(payments, 'gateway_one');
    const fields = callbackFields(other, 'paid', payQuietly(payments, other));
    expect(await notify({ ...fields, session_id: session.sessionId })).to.deep.equal(RECEIVED);
    expect(await notify({ ...callbackFields(other, 'failed'), session_id: session.sessionId })).to.deep.equal(
      RECEIVED,
    );
    for (const each of [session, other]) expect(await statusOf(payments, each)).to.equal('pending');
    const states = (await journal(payments, session)).map(({ state }) => state);
    expect(states).to.deep.equal(['mismatch', 'mismatch']);
    await expectNoQuery(session, other);
  });

  for (const session_id of ['chs_01k00000000000000000000000', '', 'nonsense', 'chs_']) {
    const named = JSON.stringify(session_id);
    it(`with the unknown session id ${named} is resolved by its transaction id`, async () => {
      const fields = callbackFields(session, 'paid', payQuietly(payments, session));
      expect(await notify({ ...fields, session_id })).to.deep.equal(RECEIVED);
      expect(await only()).to.include({ state: 'settled', sessionId: session.sessionId });
      expect(await statusOf(payments, session)).to.equal('success');
    });

    it(`with the unknown session id ${named} and an unknown transaction id is resolved by its session key`, async () => {
      const fields = callbackFields(session, 'paid', payQuietly(payments, session));
      const sessionkey = session.providerPaymentId;
      const sent = { ...fields, session_id, tran_id: 'UNKNOWN', sessionkey };
      expect(await notify(sent)).to.deep.equal(RECEIVED);
      expect(await only()).to.include({ state: 'settled', sessionId: session.sessionId });
      expect(await statusOf(payments, session)).to.equal('success');
    });
  }

  it('with a failure and an invalid session id fails the session of its transaction id', async () => {
    await notify({ ...callbackFields(session, 'failed'), session_id: '' });
    expect(await statusOf(payments, session)).to.equal('failed');
    expect(await only()).to.include({ state: 'settled' });
  });

  it('with unknown other ids belongs to the session of its session id', async () => {
    const fields = callbackFields(session, 'paid', payQuietly(payments, session));
    await notify({ ...fields, tran_id: 'UNKNOWN', sessionkey: 'UNKNOWN' });
    expect(await only()).to.include({ state: 'settled' });
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('with the session key of another session changes neither and causes no requests', async () => {
    const other = await createSession(payments, 'gateway_one');
    const { session_id: _, ...fields } = callbackFields(session, 'paid', payQuietly(payments, session));
    for (const named of [{ session_id: session.sessionId }, {}]) {
      await notify({ ...fields, ...named, sessionkey: other.providerPaymentId });
    }
    await expectNoQuery(session, other);
    expect((await journal(payments, session)).map(({ state }) => state)).to.deep.equal([
      'mismatch',
      'mismatch',
    ]);
    for (const each of [session, other]) expect(await statusOf(payments, each)).to.equal('pending');
  });

  it('that names no session is unresolved and causes no requests', async () => {
    await notify({ session_id: '', status: 'VALID', tran_id: 'UNKNOWN', sessionkey: 'UNKNOWN' });
    const [latest] = await journal(payments);
    expect(latest).to.include({ state: 'unresolved', sessionId: '' });
    expect(payments.tap.calls).to.deep.equal([]);
  });

  it('with a status without effect is stored unchanged and ignored', async () => {
    payQuietly(payments, session);
    for (const status of ['UNATTEMPTED', 'EXPIRED', 'valid', 'SUCCESS']) {
      expect(await notify({ ...callbackFields(session, 'paid'), status })).to.deep.equal(RECEIVED);
      const [latest] = await journal(payments, session);
      expect(latest).to.include({ state: 'ignored' });
      expect(latest?.fields).to.include({ status });
    }
    expect(await statusOf(payments, session)).to.equal('pending');
    expect(payments.tap.calls).to.deep.equal([]);
  });
});
