// A customer pays a session twice, and an attacker claims second payments that do not exist.
import { expect } from 'chai';
import { type ChargeSession, SlotEnvironment } from '../../gen/hub/payment/v1/payment_pb.ts';
import {
  json,
  type ScriptedProvider,
  startScriptedProvider,
} from '../core/payment/providers/scripted-provider.ts';
import { refusal } from '../core/payment/refusal.ts';
import { scrape } from '../support/hub/metrics.ts';
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
} from '../support/hub/payment.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

describe('a second payment of a paid session', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments?.stop());

  const duplicatesOf = async (session: ChargeSession) => (await inspect(payments, session)).duplicatePayments;
  /** Whether the sweep still has to ask about the session. */
  const isPending = async ({ merchantTransactionId }: ChargeSession): Promise<boolean> => {
    const rows = await query(
      payments.hub.databaseUrl,
      'select from charge_session where merchant_transaction_id = $1 and other_payment_since is not null',
      [merchantTransactionId],
    );
    return rows.length > 0;
  };
  const untilAsked = (session: ChargeSession) =>
    until(async () => !(await isPending(session)), 'the provider was queried for other payments');
  const payTwice = async (session: ChargeSession): Promise<void> => {
    await pay(payments, session);
    expect(await statusOf(payments, session)).to.equal('success');
    payments.tap.forget();
    payments.simulator.payAgain(session.providerPaymentId);
    await payments.simulator.idle();
    await until(async () => (await duplicatesOf(session)).length > 0, 'the duplicate payment is found');
  };

  const paymentsOf = ({ merchantTransactionId }: ChargeSession) =>
    payments.simulator
      .payments()
      .filter((payment) => payment.merchantTransactionId === merchantTransactionId);
  const stateOf = (session: ChargeSession) => paymentsOf(session)[0]?.state;
  /** Of a session at gateway_two: its own payment has settled it, and the other one is the duplicate. */
  const expectSecond = async (session: ChargeSession): Promise<void> => {
    const [first, second] = paymentsOf(session);
    const { session: paid, usageLogs, duplicatePayments } = await inspect(payments, session);
    expect(paid?.gatewayTransactionId).to.equal(first?.proof);
    expect(usageLogs).to.have.length(1);
    expect(duplicatePayments.map((each) => each.gatewayTransactionId)).to.deep.equal([second?.proof]);
    expect([first?.executions, second?.executions]).to.deep.equal([1, 1]);
  };

  for (const gateway of GATEWAYS) {
    it(`at ${gateway} is found by a query only, stored once, and leaves the usage log unchanged`, async () => {
      const session = await createSession(payments, gateway);
      await payTwice(session);
      expect(payments.tap.calls).to.not.include('/gateway_two/execute');
      const history = await inspect(payments, session);
      const [duplicate] = history.duplicatePayments;
      expect(history.duplicatePayments).to.have.length(1);
      expect(duplicate?.amount).to.include({ minorUnits: 10_000n, currency: 'BDT' });
      expect(duplicate?.gatewayTransactionId).to.not.equal(session.gatewayTransactionId);
      expect(duplicate).to.include({ gateway, sessionId: session.sessionId, resolution: '' });
      expect(history.usageLogs).to.have.length(1);
      expect(history.usageLog?.gatewayTransactionId).to.equal(history.session?.gatewayTransactionId);

      await untilAsked(session);
      const [callback] = (await journal(payments, session)).filter(({ fields }) =>
        Object.values(fields).some((value) =>
          [duplicate?.gatewayTransactionId, duplicate?.providerPaymentId].includes(value),
        ),
      );
      payments.tap.forget();
      for (let time = 0; time < 3; time++) {
        await callBack(payments.hub.gatewayUrl, gateway, {
          session_id: session.sessionId,
          ...callback?.fields,
        });
      }
      expect(await isPending(session), 'its callback repeated').to.equal(false);
      await payments.sessions.recheckChargeSession({ sessionId: session.sessionId });
      expect(await duplicatesOf(session)).to.deep.equal(history.duplicatePayments);
      expect(payments.tap.calls).to.not.include('/gateway_two/execute');
    });

    it(`at ${gateway} causes no query when the callback of the first one is repeated`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      const proof = (await inspect(payments, session)).session?.gatewayTransactionId;
      payments.tap.forget();
      for (let time = 0; time < 5; time++) {
        await callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'paid', proof));
      }
      expect(await isPending(session)).to.equal(false);
      expect(payments.tap.calls).to.deep.equal([]);
    });

    it(`at ${gateway} that was never made causes few queries, and leaves nothing`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      payments.tap.forget();
      for (let time = 0; time < 40; time++) {
        const forged =
          gateway === 'gateway_one'
            ? callbackFields(session, 'paid', `FORGED-${time}`)
            : { ...callbackFields(session, 'paid'), paymentID: `FORGED-${time}` };
        await callBack(payments.hub.gatewayUrl, gateway, forged);
        if (time === 0) await untilAsked(session);
      }
      // Without a list, each check queries at most five claimed payments.
      const most = gateway === 'gateway_one' ? 6 : 6 * 5;
      expect(payments.tap.calls.length).to.be.within(1, most);
      expect(payments.tap.calls).to.not.include('/gateway_two/execute');
      expect(await duplicatesOf(session)).to.deep.equal([]);
      expect(await statusOf(payments, session)).to.equal('success');
    });
  }

  it('is not a payment of another session', async () => {
    const [session, other] = [
      await createSession(payments, 'gateway_two'),
      await createSession(payments, 'gateway_two'),
    ];
    await pay(payments, session);
    await pay(payments, other);
    payments.tap.forget();
    await callBack(payments.hub.gatewayUrl, 'gateway_two', {
      ...callbackFields(session, 'paid'),
      paymentID: other.providerPaymentId,
    });
    const state = async () => (await journal(payments, session))[0]?.state;
    await until(async () => (await state()) === 'mismatch', 'the callback is dealt with', 20_000);
    expect(await isPending(session)).to.equal(false);
    const asked = [session.providerPaymentId, other.providerPaymentId].flatMap(payments.tap.about);
    expect(asked).to.deep.equal([]);
  });

  it('is found although its callback arrived before the first one was settled', async () => {
    const session = await createSession(payments, 'gateway_one');
    const { providerPaymentId: ref } = session;
    for (let time = 0; time < 2; time++)
      payments.simulator.faults.add({ kind: 'lost', operation: 'callback', ref });
    payments.simulator.pay(ref);
    payments.simulator.payAgain(ref);
    const proofs = payments.simulator.proofs(ref);
    payments.tap.hold();
    const called = proofs.map((proof) =>
      callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof)),
    );
    await until(() => payments.tap.held() > 0, 'the provider receives a query');
    payments.tap.release();
    await Promise.all(called);
    await until(async () => (await duplicatesOf(session)).length === 1, 'the duplicate payment is found');
    const { session: paid, duplicatePayments } = await inspect(payments, session);
    expect([paid?.gatewayTransactionId, duplicatePayments[0]?.gatewayTransactionId].sort()).to.deep.equal(
      [...proofs].sort(),
    );
  });

  it('at gateway_two is found although its callback waited for the verification of the first one', async () => {
    const session = await createSession(payments, 'gateway_two');
    const { providerPaymentId: ref } = session;
    payQuietly(payments, session);
    payments.tap.hold();
    const called = callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'paid'));
    await until(() => stateOf(session) === 'paid', 'the money has moved');
    payments.simulator.payAgain(ref);
    const [, second] = paymentsOf(session);
    const isJournaled = async () =>
      (await journal(payments)).some(({ fields }) => fields['paymentID'] === second?.ref);
    await until(isJournaled, 'the second callback is journaled');
    payments.tap.release();
    await called;
    await until(async () => (await duplicatesOf(session)).length === 1, 'the duplicate payment is found');
    await expectSecond(session);
  });

  it('at gateway_two is found although its callback led to the first one', async () => {
    const session = await createSession(payments, 'gateway_two');
    const { providerPaymentId: ref } = session;
    payQuietly(payments, session);
    for (const operation of ['gateway_two.execute', 'gateway_two.query'] as const)
      payments.simulator.faults.add({ kind: 'timeout_after', operation });
    await callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'paid'));
    expect(stateOf(session)).to.equal('paid');
    expect(await statusOf(payments, session)).to.equal('pending');
    payments.simulator.payAgain(ref);
    await until(async () => (await duplicatesOf(session)).length === 1, 'the duplicate payment is found');
    await expectSecond(session);
  });

  it('is queried again until the provider answers', async () => {
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.query', times: 2 });
    payments.simulator.payAgain(session.providerPaymentId);
    await until(async () => (await duplicatesOf(session)).length === 1, 'the duplicate payment is found');
  });

  it('is listed and counted until an operator handles it, which is audited', async () => {
    const { hub, admin } = payments;
    const session = await createSession(payments, 'gateway_one');
    await payTwice(session);
    const [found] = await duplicatesOf(session);
    const { duplicatePaymentId = '' } = found ?? {};
    const listed = async (includeResolved: boolean, slot = 'store') =>
      (await admin.listDuplicatePayments({ slot, includeResolved })).duplicatePayments.map(
        (each) => each.duplicatePaymentId,
      );
    expect(await listed(false)).to.include(duplicatePaymentId);
    expect(await listed(false, 'wallet')).to.not.include(duplicatePaymentId);
    const open = async () => (await scrape(hub)).sum('hub_duplicate_payments_open');
    const before = await open();

    const resolve = (resolution: string) => admin.resolveDuplicatePayment({ duplicatePaymentId, resolution });
    const { duplicatePayment, unchanged } = await resolve('refunded at the provider');
    expect(unchanged).to.equal(false);
    expect(duplicatePayment).to.include({ resolution: 'refunded at the provider' });
    expect(duplicatePayment?.resolvedAt).to.not.equal(undefined);
    const again = await resolve('something else');
    expect(again.unchanged).to.equal(true);
    expect(again.duplicatePayment).to.deep.equal(duplicatePayment);
    expect(await listed(false)).to.not.include(duplicatePaymentId);
    expect(await listed(true)).to.include(duplicatePaymentId);
    await until(async () => (await open()) === before - 1, 'one less is open');
    const actions = await query<{ action: string }>(
      hub.databaseUrl,
      'select action from audit_entry where subject = $1 order by id',
      [duplicatePaymentId],
    );
    expect(actions.map(({ action }) => action)).to.deep.equal([
      'duplicate_payment.find',
      'duplicate_payment.resolve',
    ]);
    const unknown = admin.resolveDuplicatePayment({
      duplicatePaymentId: session.sessionId,
      resolution: 'x',
    });
    expect(await refusal(unknown)).to.include({
      code: 'duplicate_payment_unknown',
      field: 'duplicatePaymentId',
    });
  });

  describe('at a provider that lists payments', () => {
    const QUERY = '/validator/api/merchantTransIDvalidationAPI.php';
    let provider: ScriptedProvider;
    before(async () => {
      provider = await startScriptedProvider();
      provider.on('/gwprocess/v4/api.php', (response, entry) => {
        const sessionkey = new URLSearchParams(entry.body).get('tran_id');
        const GatewayPageURL = 'http://provider.example/pay';
        return json({ status: 'SUCCESS', sessionkey, GatewayPageURL })(response, entry);
      });
      await payments.admin.addSlot({
        name: 'scripted',
        gateway: 'gateway_one',
        environment: SlotEnvironment.SANDBOX,
        baseUrl: provider.url,
        credentials: payments.simulator.credentials.gateway_one,
      });
    });
    after(() => provider?.close());

    const create = async (): Promise<ChargeSession> => {
      const amount = { minorUnits: 10_000n, currency: 'BDT' };
      const { session } = await payments.sessions.createChargeSession({ slot: 'scripted', amount });
      return session ?? expect.fail('no session');
    };
    const says = (session: ChargeSession, ...elements: object[]) => {
      const payment = { status: 'VALID', tran_id: session.merchantTransactionId, currency: 'BDT' };
      const element = elements.map((each) => ({ ...payment, amount: '100.00', ...each }));
      provider.on(QUERY, json({ APIConnect: 'DONE', no_of_trans_found: `${element.length}`, element }));
    };
    const recheck = ({ sessionId }: ChargeSession) => payments.sessions.recheckChargeSession({ sessionId });

    it('includes other amounts, but no invalid payments and none counted once by the bank', async () => {
      const session = await create();
      const first = {
        val_id: `A-${session.merchantTransactionId}`,
        bank_tran_id: `BANK-${session.sessionId}`,
      };
      says(session, first);
      await recheck(session);
      const second = { val_id: `B-${session.merchantTransactionId}`, bank_tran_id: 'BANK-B', amount: '7.50' };
      says(
        session,
        first,
        { ...first, val_id: 'the same transaction of the bank' },
        { ...second, status: 'VALIDATED' },
        { val_id: 'FAILED', status: 'FAILED' },
        { val_id: 'GONE', status: 'REFUNDED' },
      );
      await recheck(session);
      await recheck(session);
      const found = await duplicatesOf(session);
      expect(found.map((each) => [each.gatewayTransactionId, each.amount?.minorUnits])).to.deep.equal([
        [second.val_id, 750n],
      ]);
    });

    it('is no longer a duplicate after it settles the session because the first was reversed', async () => {
      const session = await create();
      const [first, second] = ['1', '2'].map((name) => ({
        val_id: `${name}-${session.merchantTransactionId}`,
        bank_tran_id: `BANK-${name}-${session.merchantTransactionId}`,
      }));
      says(session, first ?? {});
      await recheck(session);
      says(session, first ?? {}, second ?? {});
      await recheck(session);
      expect(await duplicatesOf(session)).to.have.length(1);
      says(session, { ...first, status: 'REVERSED' });
      await recheck(session);
      says(session, { ...first, status: 'REVERSED' }, second ?? {});
      await recheck(session);
      expect((await inspect(payments, session)).session?.gatewayTransactionId).to.equal(second?.val_id);
      const [duplicate] = await duplicatesOf(session);
      expect(duplicate?.resolution).to.equal('it settles the session now');
      const entries = await query<{ action: string; actor: string; after: object }>(
        payments.hub.databaseUrl,
        'select action, actor, after from audit_entry where subject = $1 order by id',
        [duplicate?.duplicatePaymentId],
      );
      expect(entries.map(({ action }) => action)).to.deep.equal([
        'duplicate_payment.find',
        'duplicate_payment.resolve',
      ]);
      expect(entries[1]).to.deep.include({
        actor: 'settlement',
        after: { resolved: true, resolution: 'it settles the session now', session: session.sessionId },
      });
    });
  });
});
