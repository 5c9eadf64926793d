import { expect } from 'chai';
import {
  type ChargeSession,
  SlotEnvironment,
  UsageLogKind,
} from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type GatewayName,
  inspect,
  journal,
  type Payments,
  pay,
  SLOTS,
  startPayments,
  statusOf,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { json, type ScriptedProvider, startScriptedProvider } from '../providers/scripted-provider.ts';
import { refusal } from '../refusal.ts';

describe('a settlement', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments.stop());

  it('writes one usage log entry with the fees of the current rules, and keeps them', async () => {
    const { feeRuleId = '' } =
      (await payments.admin.addFeeRule({ rule: { name: 'card', basisPoints: 250 } })).rule ?? {};
    const fixed = { name: 'desk', currency: 'BDT', fixedMinorUnits: 300n };
    await payments.admin.addFeeRule({ rule: fixed });
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    const { usageLog, session: paid } = await inspect(payments, session);
    expect(usageLog).to.include({
      sessionId: session.sessionId,
      slot: 'store',
      gateway: 'gateway_one',
      orderReference: 'ORD-1',
      gatewayTransactionId: paid?.gatewayTransactionId,
    });
    expect(
      usageLog?.fees.map(({ rule, ruleVersion, amount }) => [rule, ruleVersion, amount?.minorUnits]),
    ).to.deep.equal([
      ['card', 1, 250n],
      ['desk', 1, 300n],
    ]);
    expect(usageLog?.feeTotal).to.include({ minorUnits: 550n, currency: 'BDT' });

    await payments.admin.addFeeRule({ rule: { ...fixed, fixedMinorUnits: 900n } });
    await payments.admin.retireFeeRule({ feeRuleId });
    await callBack(
      payments.hub.gatewayUrl,
      'gateway_one',
      callbackFields(session, 'paid', usageLog?.gatewayTransactionId),
    );
    expect((await inspect(payments, session)).usageLog).to.deep.equal(usageLog);

    const next = await createSession(payments, 'gateway_one');
    await pay(payments, next);
    const { usageLog: nextLog } = await inspect(payments, next);
    expect(
      nextLog?.fees.map(({ rule, ruleVersion, amount }) => [rule, ruleVersion, amount?.minorUnits]),
    ).to.deep.equal([['desk', 2, 900n]]);
  });

  it('is recorded in the audit log with each status change, and only those', async () => {
    const session = await createSession(payments, 'gateway_one');
    for (let time = 0; time < 2; time++) {
      await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    }
    await pay(payments, session);
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    const rows = await query<Record<'actor' | 'before' | 'after' | 'amount', string>>(
      payments.hub.databaseUrl,
      `select actor, before->>'status' as before, after->>'status' as after, detail->>'amount' as amount
       from audit_entry where subject = $1 and action = 'charge_session.settle' order by id`,
      [session.sessionId],
    );
    const by = { actor: 'settlement', amount: '100.00 BDT' };
    expect(rows).to.deep.equal([
      { ...by, before: 'pending', after: 'failed' },
      { ...by, before: 'failed', after: 'success' },
    ]);
  });

  it('follows a customer who fails, cancels and then pays', async () => {
    const session = await createSession(payments, 'gateway_one');
    const { providerPaymentId } = session;
    const { simulator } = payments;
    for (const [press, status] of [
      [simulator.fail, 'failed'],
      [simulator.cancel, 'cancelled'],
      [simulator.pay, 'success'],
    ] as const) {
      press(providerPaymentId);
      await simulator.idle();
      expect(await statusOf(payments, session)).to.equal(status);
    }
  });

  it('continues for a disabled slot, which takes no new sessions', async () => {
    const session = await createSession(payments, 'gateway_two');
    await payments.admin.setSlotDisabled({ slot: 'wallet', disabled: true });
    expect(await refusal(createSession(payments, 'gateway_two'))).to.include({
      code: 'slot_disabled',
      field: 'slot',
    });
    await pay(payments, session);
    expect(await statusOf(payments, session)).to.equal('success');
    await payments.admin.setSlotDisabled({ slot: 'wallet', disabled: false });
    await createSession(payments, 'gateway_two');
  });

  it("uses the slot's current credentials", async () => {
    const session = await createSession(payments, 'gateway_one');
    const credentials = payments.simulator.credentials.gateway_one;
    await payments.admin.rotateSlotCredentials({
      slot: 'store',
      credentials: { ...credentials, storePassword: 'not it' },
    });
    await pay(payments, session);
    expect(await statusOf(payments, session)).to.equal('pending');
    expect((await journal(payments, session))[0]?.reason).to.contain('does not accept');
    await payments.admin.rotateSlotCredentials({ slot: 'store', credentials });
    await payments.sessions.recheckChargeSession({ sessionId: session.sessionId });
    expect(await statusOf(payments, session)).to.equal('success');
  });

  describe('by a provider that proves two sessions with one payment', () => {
    let provider: ScriptedProvider;
    before(async () => {
      provider = await startScriptedProvider();
    });
    after(() => provider.close());

    const create = async (gateway: GatewayName, order: string): Promise<ChargeSession> => {
      const request = { slot: `bad-${SLOTS[gateway]}`, amount: { minorUnits: 10_000n, currency: 'BDT' } };
      const { session } = await payments.sessions.createChargeSession({ ...request, orderReference: order });
      return session ?? expect.fail('no session');
    };
    const addSlot = (gateway: GatewayName) =>
      payments.admin.addSlot({
        name: `bad-${SLOTS[gateway]}`,
        gateway,
        environment: SlotEnvironment.SANDBOX,
        baseUrl: provider.url,
        credentials: payments.simulator.credentials[gateway],
      });
    const QUERY = '/validator/api/merchantTransIDvalidationAPI.php';
    const validation = (payment: object) => ({
      status: 'VALID',
      amount: '100.00',
      currency: 'BDT',
      ...payment,
    });
    const expectOnlyTheFirstPaid = async (sessions: readonly ChargeSession[], proof: string) => {
      for (const session of sessions) {
        await callBack(payments.hub.gatewayUrl, session.gateway, callbackFields(session, 'paid', proof));
      }
      const [first, second] = sessions;
      if (first === undefined || second === undefined) return expect.fail('two sessions are needed');
      expect(await statusOf(payments, first)).to.equal('success');
      expect((await inspect(payments, first)).usageLog).to.include({ gatewayTransactionId: proof });
      expect(await statusOf(payments, second)).to.equal('pending');
      expect((await inspect(payments, second)).usageLog).to.equal(undefined);
      expect((await journal(payments, second))[0]).to.include({
        state: 'mismatch',
        reason: 'the payment it names has paid another session',
      });
    };

    it('(gateway_one, the same validation id) settles one', async () => {
      provider.on('/gwprocess/v4/api.php', (response, entry) => {
        const sessionkey = new URLSearchParams(entry.body).get('tran_id');
        const GatewayPageURL = 'http://provider.example/pay';
        return json({ status: 'SUCCESS', sessionkey, GatewayPageURL })(response, entry);
      });
      await addSlot('gateway_one');
      const sessions = [await create('gateway_one', 'ORD-A'), await create('gateway_one', 'ORD-B')];
      const [one, other] = sessions.map(({ merchantTransactionId: tran_id }) =>
        json({ status: 'VALID', tran_id, val_id: 'ONE-PROOF', amount: '100.00', currency: 'BDT' }),
      );
      if (one === undefined || other === undefined) return expect.fail('two sessions are needed');
      provider.on('/validator/api/validationserverAPI.php', one, other);
      await expectOnlyTheFirstPaid(sessions, 'ONE-PROOF');
    });

    it('(gateway_one, two validation ids with one bank transaction) settles one', async () => {
      const sessions = [await create('gateway_one', 'ORD-C'), await create('gateway_one', 'ORD-D')];
      const answers = sessions.map(({ merchantTransactionId: tran_id }, index) =>
        json(validation({ tran_id, val_id: `PROOF-${index}`, bank_tran_id: 'ONE-BANK-ID' })),
      );
      const [one, other] = answers;
      if (one === undefined || other === undefined) return expect.fail('two sessions are needed');
      provider.on('/validator/api/validationserverAPI.php', one, other);
      await expectOnlyTheFirstPaid(sessions, 'PROOF-0');
      // Nothing is left of the attempt: the second may still be paid by a transaction of its own.
      const [, second] = sessions;
      const kept = await query(payments.hub.databaseUrl, `select from payment_proof where value = 'PROOF-1'`);
      expect(kept).to.deep.equal([]);
      const own = {
        tran_id: second?.merchantTransactionId,
        val_id: 'PROOF-1',
        bank_tran_id: 'OTHER-BANK-ID',
      };
      provider.on(QUERY, json({ APIConnect: 'DONE', no_of_trans_found: '1', element: [validation(own)] }));
      await payments.sessions.recheckChargeSession({ sessionId: second?.sessionId ?? '' });
      expect(await statusOf(payments, second ?? expect.fail('no session'))).to.equal('success');
    });

    it('(payments after reversals) adds entries, and never changes the first one', async () => {
      const [session, other] = [await create('gateway_one', 'ORD-E'), await create('gateway_one', 'ORD-F')];
      const says = (element: object) =>
        provider.on(QUERY, json({ APIConnect: 'DONE', no_of_trans_found: '1', element: [element] }));
      const recheck = async ({ sessionId }: ChargeSession) =>
        (await payments.sessions.recheckChargeSession({ sessionId })).session;
      const entries = async () =>
        (await inspect(payments, session)).usageLogs.map((entry) => ({
          kind: entry.kind,
          paidBy: entry.gatewayTransactionId,
          minor: entry.amount?.minorUnits,
          received: entry.received?.minorUnits,
          fees: entry.fees.map(({ rule }) => rule),
        }));
      const ids = { val_id: 'FIRST', bank_tran_id: 'BANK-FIRST' };
      const first = { tran_id: session.merchantTransactionId, ...ids, store_amount: '97.50' };
      says(validation(first));
      await recheck(session);
      const { usageLog: before } = await inspect(payments, session);
      const firstFees = before?.fees.map(({ rule }) => rule) ?? [];
      says(validation({ ...first, status: 'REVERSED' }));
      await recheck(session);
      await recheck(session);
      says(validation(first));
      await recheck(session);
      const net = { received: 9_750n };
      const payment = {
        kind: UsageLogKind.PAYMENT,
        paidBy: 'FIRST',
        minor: 10_000n,
        ...net,
        fees: firstFees,
      };
      const reversal = {
        kind: UsageLogKind.REVERSAL,
        paidBy: 'FIRST',
        minor: -10_000n,
        received: undefined,
        fees: [],
      };
      const again = { ...reversal, kind: UsageLogKind.LATER_PAYMENT, minor: 10_000n };
      expect(await entries(), 'the same payment, standing again').to.deep.equal([payment, reversal, again]);

      says(validation({ ...first, status: 'REVERSED' }));
      await recheck(session);
      await payments.admin.addFeeRule({ rule: { name: 'late', slot: 'bad-store', basisPoints: 100 } });
      says(validation({ ...first, val_id: 'SECOND', bank_tran_id: 'BANK-SECOND' }));
      expect(await recheck(session)).to.include({ gatewayTransactionId: 'SECOND' });
      const later = {
        kind: UsageLogKind.LATER_PAYMENT,
        paidBy: 'SECOND',
        minor: 10_000n,
        ...net,
        fees: [...firstFees, 'late'].sort(),
      };
      expect(await entries()).to.deep.equal([payment, reversal, again, reversal, later]);
      const { usageLog: after, usageLogs } = await inspect(payments, session);
      const [, firstReversal, , secondReversal] = usageLogs;
      expect(after).to.deep.equal({ ...before, reversedAt: firstReversal?.settledAt });
      expect(firstReversal?.reversesUsageLogId).to.equal(before?.usageLogId);
      expect(secondReversal?.reversesUsageLogId).to.equal(usageLogs[2]?.usageLogId);

      says(validation({ ...first, tran_id: other.merchantTransactionId }));
      await recheck(other);
      expect(await statusOf(payments, other)).to.equal('pending');
    });

    it('(gateway_two, the same trxID) settles one', async () => {
      const paymentOf = (body: string) => JSON.parse(body) as Record<string, string>; // what the hub sends
      provider.on('/token/grant', json({ statusCode: '0000', id_token: 'token', expires_in: 3_600 }));
      provider.on('/create', (response, entry) => {
        const paymentID = `TR${paymentOf(entry.body)['merchantInvoiceNumber']}`;
        const bkashURL = 'http://provider.example/pay';
        return json({ statusCode: '0000', paymentID, bkashURL })(response, entry);
      });
      provider.on('/execute', (response, entry) => {
        const { paymentId: paymentID = '' } = paymentOf(entry.body);
        const payment = { paymentID, merchantInvoiceNumber: paymentID.slice(2), trxID: 'ONE-TRX' };
        const rest = {
          statusCode: '0000',
          transactionStatus: 'Completed',
          amount: '100.00',
          currency: 'BDT',
        };
        return json({ ...payment, ...rest })(response, entry);
      });
      await addSlot('gateway_two');
      const sessions = [await create('gateway_two', 'ORD-A'), await create('gateway_two', 'ORD-B')];
      await expectOnlyTheFirstPaid(sessions, 'ONE-TRX');
    });
  });
});
