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
import { query, withClient } from '../support/postgres/databases.ts';
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

describe('a second payment of a session with its maximum of callbacks', () => {
  const KEPT = 3;
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  const clock = () => new Date(Date.now() + aheadMs);
  before(async () => {
    payments = await startPayments({ clock, settings: { sessionCallbacks: KEPT } });
  });
  beforeEach(() => payments.tap.forget());
  after(() => payments?.stop());

  const send = (fields: Record<string, string>, { gateway }: ChargeSession) =>
    callBack(payments.hub.gatewayUrl, gateway, fields);
  const foundIn = async (session: ChargeSession) =>
    (await inspect(payments, session)).duplicatePayments.map((each) => each.providerPaymentId);
  const untilFound = (session: ChargeSession) =>
    until(async () => (await foundIn(session)).length === 1, 'the duplicate payment is found');
  const fill = async (session: ChargeSession): Promise<void> => {
    for (let time = 0; time < KEPT; time++) await send(callbackFields(session, 'failed'), session);
  };
  /** The customer pays again, and the provider's own callback is lost. Resolves with what it would have said. */
  const payAgainQuietly = (session: ChargeSession): Record<string, string> => {
    const { providerPaymentId: ref, merchantTransactionId } = session;
    payments.simulator.faults.add({ kind: 'lost', operation: 'callback', times: 1 });
    payments.simulator.payAgain(ref);
    if (session.gateway === 'gateway_one')
      return callbackFields(session, 'paid', payments.simulator.proofs(ref).at(-1));
    const second = payments.simulator
      .payments()
      .find((each) => each.merchantTransactionId === merchantTransactionId && each.ref !== ref);
    return { ...callbackFields(session, 'paid'), paymentID: second?.ref ?? expect.fail('no second payment') };
  };
  const forged = (session: ChargeSession, name: string) => ({
    ...callbackFields(session, 'paid'),
    paymentID: `FORGED-${name}`,
  });

  for (const gateway of GATEWAYS) {
    it(`at ${gateway} is found by a callback that is only counted`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await fill(session);
      await send(payAgainQuietly(session), session);
      await untilFound(session);
      expect((await inspect(payments, session)).callbacks).to.have.length(KEPT);
      expect(payments.tap.calls.filter((path) => path.endsWith('/execute')).length).to.be.at.most(1);
    });

    it(`at ${gateway} causes no query when counted callbacks repeat the first payment`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await fill(session);
      payments.tap.forget();
      const proof = (await inspect(payments, session)).session?.gatewayTransactionId;
      for (let time = 0; time < 5; time++) await send(callbackFields(session, 'paid', proof), session);
      const marked = await query(
        payments.hub.databaseUrl,
        'select from charge_session where merchant_transaction_id = $1 and next_check_at is not null',
        [session.merchantTransactionId],
      );
      expect(marked).to.deep.equal([]);
      expect(payments.tap.calls).to.deep.equal([]);
    });
  }

  it('is found although both payments were only counted before the settlement', async () => {
    const session = await createSession(payments, 'gateway_one');
    await fill(session);
    const first = callbackFields(session, 'paid', payQuietly(payments, session));
    const second = payAgainQuietly(session);
    payments.tap.hold();
    await send(first, session);
    await until(() => payments.tap.held() > 0, 'the provider receives a query');
    await send(second, session);
    payments.tap.release();
    await untilFound(session);
  });

  it('is marked although it is counted while the settlement commits', async () => {
    const { databaseUrl } = payments.hub;
    const session = await createSession(payments, 'gateway_one');
    const { sessionId, merchantTransactionId } = session;
    await fill(session);
    payQuietly(payments, session);
    // The next verification is neither due nor later than the rate limit allows.
    await query(
      databaseUrl,
      `update charge_session set verification_allowed_at = now() + interval '1 hour',
         next_check_at = now() + interval '30 minutes' where merchant_transaction_id = $1`,
      [merchantTransactionId],
    );
    const [stored] = await query<{ id: string }>(
      databaseUrl,
      'select id from charge_session where merchant_transaction_id = $1',
      [merchantTransactionId],
    );
    await withClient(databaseUrl, async (holder) => {
      await holder.query(
        `create function wait() returns trigger language plpgsql as
           'begin perform pg_advisory_xact_lock(1); return null; end';
         create constraint trigger wait after update of status on charge_session deferrable initially deferred
           for each row when (new.id = '${stored?.id}') execute function wait()`,
      );
      await holder.query('select pg_advisory_lock(1)');
      const recheck = payments.sessions.recheckChargeSession({ sessionId });
      await until(async () => {
        const { rows } = await holder.query(
          `select from pg_locks where locktype = 'advisory' and not granted and database =
             (select oid from pg_database where datname = current_database())`,
        );
        return rows.length > 0;
      }, 'the settlement waits before its commit');
      const counted = async (): Promise<number> => {
        const { rows } = await holder.query('select ignored from callback_count where session_id = $1', [
          stored?.id,
        ]);
        return rows[0]?.ignored ?? 0;
      };
      const before = await counted();
      const sent = send(payAgainQuietly(session), session);
      await until(async () => (await counted()) > before, 'the callback is counted');
      await holder.query('select pg_advisory_unlock(1)');
      await Promise.all([recheck, sent]);
      await holder.query('drop trigger wait on charge_session; drop function wait');
    });
    expect(await statusOf(payments, session)).to.equal('success');
    const marked = await query(
      databaseUrl,
      'select from charge_session where merchant_transaction_id = $1 and other_payment_since is not null',
      [merchantTransactionId],
    );
    expect(marked).to.have.length(1);
  });

  const hideAmongForged = async (): Promise<void> => {
    const session = await createSession(payments, 'gateway_two');
    await pay(payments, session);
    const honest = payAgainQuietly(session);
    for (let index = 0; index < 8; index++) await send(forged(session, `BEFORE-${index}`), session);
    await send(honest, session);
    for (let index = 0; index < 8; index++) await send(forged(session, `AFTER-${index}`), session);
    // The next check is at most a minute away; each queries five payment ids.
    aheadMs += 60_000;
    await untilFound(session);
    expect(await foundIn(session)).to.deep.equal([honest['paymentID']]);
    await until(async () => {
      const rows = await query<{ left: number }>(
        payments.hub.databaseUrl,
        `select cardinality(k.other_checkouts) as left from callback_count k join charge_session c on c.id = k.session_id
         where c.merchant_transaction_id = $1 and c.other_payment_since is null`,
        [session.merchantTransactionId],
      );
      return rows[0]?.left === 0;
    }, 'the provider was asked about all of them');
  };
  it('is not hidden by forged payment ids before and after it', hideAmongForged);

  it('is not hidden by them even if the journal stores all', async () => {
    const full = payments;
    payments = await startPayments({ clock });
    try {
      await hideAmongForged();
    } finally {
      await payments.stop();
      payments = full;
    }
  });
});
