// A session whose checkout could not be created: the caller gets its id, the sweep checks it, and a repeated
// call retries.
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { ChargeStatus, SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  GATEWAYS,
  type GatewayName,
  inspect,
  type Payments,
  payQuietly,
  SLOTS,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { json, startScriptedProvider } from '../providers/scripted-provider.ts';
import { refusal } from '../refusal.ts';

const FIRST_MS = 4_000; // the hub looks four times in it
const CREATE = { gateway_one: 'gateway_one.initiate', gateway_two: 'gateway_two.create' } as const;

describe('a checkout that could not be created', () => {
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  before(async () => {
    const clock = () => new Date(Date.now() + aheadMs);
    payments = await startPayments({ settings: { sweepAfterMs: [FIRST_MS, 4 * 3_600_000] }, clock });
  });
  after(() => payments.stop());

  const create = async (gateway: GatewayName, idempotencyKey: string) => {
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    const request = { slot: SLOTS[gateway], amount, orderReference: 'ORD-1', idempotencyKey };
    const { session } = await payments.sessions.createChargeSession(request);
    return session ?? expect.fail('no session');
  };
  /** A session whose checkout the provider did not answer for. */
  const createInVain = async (gateway: GatewayName, idempotencyKey: string) => {
    payments.simulator.faults.add({ kind: 'error_500', operation: CREATE[gateway] });
    const refused = await refusal(create(gateway, idempotencyKey));
    expect(refused).to.include({ code: 'provider_unavailable' });
    const { sessionId = '' } = refused;
    const { session } = await payments.sessions.getChargeSession({ sessionId });
    return session ?? expect.fail('the refusal names no session');
  };

  it('does not repeat the customer in the reason of a refusal, in any case', async () => {
    const provider = await startScriptedProvider();
    try {
      await payments.admin.addSlot({
        name: 'repeats',
        gateway: 'gateway_one',
        environment: SlotEnvironment.SANDBOX,
        baseUrl: provider.url,
        credentials: payments.simulator.credentials.gateway_one,
      });
      const failedreason = 'no card of 李明 (ADA.LOVELACE@Example.com) in ÉVRY (1+1)';
      provider.on('/gwprocess/v4/api.php', json({ status: 'FAILED', failedreason }));
      const refused = await refusal(
        payments.sessions.createChargeSession({
          slot: 'repeats',
          amount: { minorUnits: 10_000n, currency: 'BDT' },
          orderReference: 'ORD-1',
          customer: { name: '李明', email: 'ada.lovelace@example.com', address: 'Évry (1+1)' },
        }),
      );
      expect(refused.message).to.contain('no card of *** (***) in ***');
      const rows = await query(payments.hub.databaseUrl, 'select after from audit_entry');
      expect(JSON.stringify(rows)).to.contain('no card of *** (***) in ***');
    } finally {
      await provider.close();
    }
  });

  for (const gateway of GATEWAYS) {
    it(`at ${gateway} leaves a session that the error names and whose reason explains it`, async () => {
      const session = await createInVain(gateway, `named-${gateway}`);
      expect(session).to.include({
        status: ChargeStatus.PENDING,
        statusReason: 'no checkout yet',
        checkoutUrl: '',
      });
      const { verifications } = await inspect(payments, session);
      expect(verifications.at(-1)).to.include({
        operation: CREATE[gateway].replace(/.*\./, ''),
        outcome: 'unavailable',
      });
    });

    it(`at ${gateway} fails the session at the first sweep, unless a repeated call creates it`, async () => {
      const session = await createInVain(gateway, `swept-${gateway}`);
      aheadMs += FIRST_MS;
      await untilStatus(payments, session, 'failed');
      const { session: failed } = await inspect(payments, session);
      expect(failed).to.include({ statusReason: 'no checkout was created', statusVerified: true });

      const made = await create(gateway, `swept-${gateway}`);
      expect(made).to.include({
        sessionId: session.sessionId,
        status: ChargeStatus.PENDING,
        statusVerified: false,
        statusReason: 'waiting for the customer',
      });
      payQuietly(payments, made);
      aheadMs += FIRST_MS;
      await untilStatus(payments, made, 'success');
    });

    it(`at ${gateway} is reported by a recheck of the session`, async () => {
      const session = await createInVain(gateway, `rechecked-${gateway}`);
      const reply = await payments.sessions.recheckChargeSession({ sessionId: session.sessionId });
      expect(reply.session).to.include({
        statusReason: 'no checkout was created',
        status: ChargeStatus.FAILED,
      });
      expect(reply.verification?.operation).to.equal(gateway === 'gateway_one' ? 'query' : undefined);
    });

    it(`at ${gateway} is not created after the slot is disabled`, async () => {
      const session = await createInVain(gateway, `disabled-${gateway}`);
      const before = payments.simulator.payments().length;
      await payments.admin.setSlotDisabled({ slot: SLOTS[gateway], disabled: true });
      const refused = await refusal(create(gateway, `disabled-${gateway}`));
      await payments.admin.setSlotDisabled({ slot: SLOTS[gateway], disabled: false });
      expect(refused).to.include({ code: 'slot_disabled', field: 'slot', sessionId: session.sessionId });
      expect(payments.simulator.payments().length).to.equal(before);
      expect((await create(gateway, `disabled-${gateway}`)).checkoutUrl).to.not.equal('');
    });
  }

  it('is not created by a call that was waiting when the slot was disabled', async () => {
    const { gateway_one: slot } = SLOTS;
    payments.simulator.faults.add({ kind: 'timeout_before', operation: CREATE.gateway_one });
    const first = refusal(create('gateway_one', 'waiting'));
    const leased =
      "select from charge_session where idempotency_key = 'waiting' and verifying_by is not null";
    await until(
      async () => (await query(payments.hub.databaseUrl, leased)).length === 1,
      'the first call has the lease',
    );
    const second = refusal(create('gateway_one', 'waiting'));
    await setTimeout(100); // it has read the slot, and waits for the first call
    await payments.admin.setSlotDisabled({ slot, disabled: true });
    try {
      expect(await first).to.include({ code: 'provider_unavailable' });
      expect(await second).to.include({ code: 'slot_disabled' });
    } finally {
      await payments.admin.setSlotDisabled({ slot, disabled: false });
    }
  });

  it('is not created for a paid session whose first response was lost', async () => {
    // The provider creates the checkout, the response is lost, and the customer pays anyway.
    payments.simulator.faults.add({ kind: 'timeout_after', operation: 'gateway_one.initiate' });
    const { sessionId = '' } = await refusal(create('gateway_one', 'paid'));
    const { session } = await payments.sessions.getChargeSession({ sessionId });
    const unseen = payments.simulator
      .payments()
      .find(({ merchantTransactionId }) => merchantTransactionId === session?.merchantTransactionId);
    payments.simulator.pay(unseen?.ref ?? '');
    await payments.simulator.idle();
    const before = payments.simulator.payments().length;
    const again = await create('gateway_one', 'paid');
    expect(again).to.include({ sessionId, status: ChargeStatus.SUCCESS, checkoutUrl: '' });
    expect(payments.simulator.payments().length).to.equal(before);
  });

  it('keeps what became known of the payment during its creation', async () => {
    const { tap } = payments;
    tap.forget();
    tap.hold();
    const creating = create('gateway_one', 'meanwhile');
    // The response to a check of an earlier session may be held back too.
    const isMade = () =>
      tap.calls.includes('/gateway_one/gwprocess/v4/api.php') && tap.held() >= tap.calls.length;
    await until(isMade, 'the provider made the checkout');
    // What a hub would settle that took the lease over.
    await query(
      payments.hub.databaseUrl,
      `update charge_session set status = 'success', status_verified = true, status_reason = 'paid', next_check_at = null
       where idempotency_key = 'meanwhile'`,
    );
    tap.release();
    const session = await creating;
    expect(session.checkoutUrl).to.not.equal('');
    expect(await statusOf(payments, session)).to.equal('success');
    expect(session.statusReason).to.equal('paid');
  });

  it('counts as an unavailable provider if the answer has the payment id of another session', async () => {
    const provider = await startScriptedProvider();
    const GatewayPageURL = 'http://provider.example/pay';
    provider.on('/gwprocess/v4/api.php', json({ status: 'SUCCESS', sessionkey: 'ONE-KEY', GatewayPageURL }));
    await payments.admin.addSlot({
      name: 'same-key',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: provider.url,
      credentials: payments.simulator.credentials.gateway_one,
    });
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    const creating = () =>
      payments.sessions.createChargeSession({ slot: 'same-key', amount, orderReference: 'ORD-1' });
    await creating();
    const refused = await refusal(creating());
    await provider.close();
    expect(refused).to.include({
      code: 'provider_unavailable',
      message: 'slot same-key: the provider gave the payment id of another session',
    });
    expect(refused.sessionId).to.match(/^chs_/);
  });

  it('does not keep a claim from being stored, nor the checkout from being created later', async () => {
    const session = await createInVain('gateway_one', 'claimed');
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'cancelled'));
    expect(await statusOf(payments, session)).to.equal('cancelled');
    expect(await create('gateway_one', 'claimed')).to.include({ status: ChargeStatus.PENDING });
  });
});
