// Payments by Stripe: a real hub, the official package, and the simulator of Stripe's API, page and events.
import { expect } from 'chai';
import type { ChargeSession } from '../../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  inspect,
  journal,
  type Payments,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../../support/hub/payment.ts';
import { addStripeSlot, CARD, deliver } from '../../../../support/hub/stripe.ts';
import { query } from '../../../../support/postgres/databases.ts';
import { until } from '../../../../support/until.ts';

const HOUR_MS = 3_600_000;

describe('a payment by Stripe', () => {
  let payments: Payments;
  /** How far the clocks of the hub and of Stripe are ahead. */
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  before(async () => {
    payments = await startPayments({ simulator: { now }, clock: () => new Date(now()) });
    await addStripeSlot(payments);
  });
  after(() => payments.stop());

  const create = async (amount = { minorUnits: 10_000n, currency: 'USD' }): Promise<ChargeSession> => {
    const customer = { email: 'ada@example.com' };
    const { session } = await payments.sessions.createChargeSession({
      slot: CARD,
      amount,
      customer,
      orderReference: 'ORD-1',
    });
    return session ?? expect.fail();
  };
  const eventsOf = (session: ChargeSession) =>
    payments.simulator.stripe.events().filter(({ body }) => body.includes(session.providerPaymentId));
  const statesOf = async (session: ChargeSession) =>
    (await journal(payments, session)).map(({ state, fields }) => [fields['type'], state]).toReversed();
  const checksOf = async (session: ChargeSession) => {
    const [row] = await query<{ checks: number; next: Date | null }>(
      payments.hub.databaseUrl,
      'select checks, next_check_at as next from charge_session where provider_payment_id = $1',
      [session.providerPaymentId],
    );
    return row ?? expect.fail();
  };

  it('settles by the checkout session, after the customer pays on the page and the event arrives', async () => {
    const session = await create();
    const form = new URLSearchParams({ press: 'pay' });
    const page = await fetch(session.checkoutUrl, { method: 'POST', body: form, redirect: 'manual' });
    expect([page.status, page.headers.get('location')]).to.deep.equal([
      303,
      `${payments.hub.gatewayUrl}/v1/return/${session.sessionId}`,
    ]);
    expect(await (await fetch(page.headers.get('location') ?? '')).text()).to.contain(
      'You can close this page',
    );
    await untilStatus(payments, session, 'success');
    const { callbacks, usageLog, verifications } = await inspect(payments, session);
    expect(usageLog?.gatewayTransactionId).to.equal(`pi_${session.providerPaymentId.slice(3)}`);
    expect(verifications.map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['create', 'pending'],
      ['query', 'paid'],
    ]);
    const { event, '[slot]': slot, ...fields } = callbacks[0]?.fields ?? {};
    expect([event, slot, fields]).to.deep.equal([
      eventsOf(session)[0]?.id,
      CARD,
      {
        type: 'checkout.session.completed',
        checkout_session: session.providerPaymentId,
        transaction: session.merchantTransactionId,
        payment_status: 'paid',
        payment_intent: usageLog?.gatewayTransactionId,
      },
    ]);
  });

  it('of each kind of currency is charged exactly', async () => {
    const amounts = [
      [500n, 'JPY', 500],
      [500n, 'ISK', 50_000],
      [3_700n, 'UGX', 370_000],
      [5_120n, 'KWD', 5_120],
    ] as const;
    for (const [minorUnits, currency, unitAmount] of amounts) {
      const session = await create({ minorUnits, currency });
      payments.simulator.pay(session.providerPaymentId);
      await untilStatus(payments, session, 'success');
      expect(eventsOf(session)[0]?.body).to.contain(`"amount_total":${unitAmount},`);
    }
    const refused = await create({ minorUnits: 5_125n, currency: 'KWD' }).catch((error) => String(error));
    expect(refused).to.contain('Stripe does not take 5.125 KWD');
  });

  it('that no event reports, or a false answer, an outage or a fault is about, settles by the sweep', async () => {
    const session = await create();
    const { faults } = payments.simulator;
    faults.add({ kind: 'lost', operation: 'callback', ref: session.providerPaymentId });
    payments.simulator.pay(session.providerPaymentId);
    for (const kind of [
      'wrong_amount',
      'wrong_currency',
      'wrong_transaction',
      'html',
      'truncated',
      'error_500',
    ] as const) {
      faults.add({ kind, operation: 'stripe.retrieve', ref: session.providerPaymentId });
      await payments.sessions.recheckChargeSession({ sessionId: session.sessionId }).catch(() => {});
      expect(await statusOf(payments, session), kind).to.equal('pending');
    }
    aheadMs += 5 * HOUR_MS;
    await untilStatus(payments, session, 'success');
  });

  it('that is unpaid when the checkout completes settles days later', async () => {
    const session = await create();
    payments.simulator.stripe.payLater(session.providerPaymentId);
    await until(async () => (await statesOf(session)).length === 1, 'the event is processed');
    expect(await statusOf(payments, session)).to.equal('pending');
    aheadMs += 72 * HOUR_MS;
    payments.simulator.stripe.settle(session.providerPaymentId);
    await untilStatus(payments, session, 'success');
    expect(await statesOf(session)).to.deep.equal([
      ['checkout.session.completed', 'ignored'],
      ['checkout.session.async_payment_succeeded', 'settled'],
    ]);
  });

  it('that is settled days later, and whose event is lost, is found by the sweep', async () => {
    const session = await create();
    payments.simulator.stripe.payLater(session.providerPaymentId);
    await until(async () => (await statesOf(session)).length === 1, 'the event is processed');
    // Beyond the day, and the number of checks, after which the sweep gives up other sessions.
    for (let checks = (await checksOf(session)).checks, times = 0; times < 7; times++) {
      aheadMs += 5 * HOUR_MS;
      await until(async () => (await checksOf(session)).checks > checks, 'the sweep verifies the session');
      ({ checks } = await checksOf(session));
    }
    await until(async () => (await checksOf(session)).next !== null, 'the sweep continues');
    payments.simulator.faults.add({ kind: 'lost', operation: 'callback', ref: session.providerPaymentId });
    payments.simulator.stripe.settle(session.providerPaymentId);
    aheadMs += 5 * HOUR_MS;
    await untilStatus(payments, session, 'success');
  });

  it('fails if the bank declines, and is cancelled if the checkout expires', async () => {
    const declined = await create();
    payments.simulator.stripe.payLater(declined.providerPaymentId);
    payments.simulator.stripe.decline(declined.providerPaymentId);
    await untilStatus(payments, declined, 'failed');
    const expired = await create();
    payments.simulator.stripe.expire(expired.providerPaymentId);
    await untilStatus(payments, expired, 'cancelled');
    await payments.sessions.recheckChargeSession({ sessionId: expired.sessionId });
    const { session } = await payments.sessions.getChargeSession({ sessionId: expired.sessionId });
    expect(session?.statusReason).to.contain('the provider says expired');
  });

  describe('an event', () => {
    it('that is repeated or out of order changes nothing', async () => {
      const session = await create();
      payments.simulator.stripe.payLater(session.providerPaymentId);
      payments.simulator.stripe.settle(session.providerPaymentId);
      await untilStatus(payments, session, 'success');
      const [completed = expect.fail(), succeeded = expect.fail()] = eventsOf(session);
      const at = new Date(now());
      for (const event of [succeeded, completed, completed]) {
        expect(await deliver(payments, event, { at })).to.deep.equal({
          status: 200,
          body: '{"received":true}',
        });
      }
      await until(
        async () => (await statesOf(session)).every(([, state]) => state !== 'received'),
        'all are processed',
      );
      const entries = await query(
        payments.hub.databaseUrl,
        'select from usage_log u join charge_session c on c.id = u.session_id where c.provider_payment_id = $1',
        [session.providerPaymentId],
      );
      expect(entries).to.have.length(1);
    });

    it('with an old, false or missing signature is refused and not stored', async () => {
      const session = await create();
      payments.simulator.pay(session.providerPaymentId);
      await untilStatus(payments, session, 'success');
      const [event = expect.fail()] = eventsOf(session);
      const before = (await journal(payments)).length;
      for (const signature of [
        { at: new Date(now() - 301_000) },
        { at: new Date(now()), secret: 'whsec_another' },
      ]) {
        const { status, body } = await deliver(payments, event, signature);
        expect([status, JSON.parse(body).code]).to.deep.equal([400, 'callback_malformed']);
      }
      await payments.simulator.forge(session.providerPaymentId, 'paid');
      expect(payments.simulator.deliveries().at(-1)).to.include({ forged: true, status: 400 });
      expect(await journal(payments)).to.have.length(before);
    });

    it('is replayed from the journal, however old its signature is', async () => {
      const session = await create();
      payments.simulator.faults.add({
        kind: 'error_500',
        operation: 'stripe.retrieve',
        ref: session.providerPaymentId,
      });
      payments.simulator.pay(session.providerPaymentId);
      await until(async () => (await journal(payments, session)).length === 1, 'the event is stored');
      aheadMs += HOUR_MS;
      const [{ callbackId } = expect.fail()] = await journal(payments, session);
      await payments.admin.replayCallback({ callbackId });
      await untilStatus(payments, session, 'success');
    });

    it('of a session that the hub did not create is stored as unresolved, and nothing else', async () => {
      const id = 'cs_test_of_another_system';
      const object = {
        id,
        client_reference_id: 'order 7 of ada@example.com',
        payment_status: 'paid',
        status: 'complete',
      };
      const body = JSON.stringify({ id: 'evt_other', type: 'checkout.session.completed', data: { object } });
      expect((await deliver(payments, { body }, { at: new Date(now()) })).status).to.equal(200);
      const found = async () =>
        (await journal(payments)).find(({ fields }) => fields['checkout_session'] === id);
      await until(async () => (await found())?.state !== 'received', 'it is processed');
      expect(await found()).to.deep.include({ state: 'unresolved' });
      expect(JSON.stringify((await found())?.fields)).not.to.contain('ada');
    });
  });
});
