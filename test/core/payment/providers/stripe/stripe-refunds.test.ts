// Refunds and disputes of Stripe: a real hub with the licenses that were sold, and the simulator.

import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { LicenseState } from '../../../../../gen/hub/license/v1/license_pb.ts';
import { OrderState } from '../../../../../gen/hub/order/v1/order_pb.ts';
import { RefundService } from '../../../../../gen/hub/payment/v1/refund_service_pb.ts';
import { REFUND_STATES, wordFor } from '../../../../../lib/presentation/enum-names.ts';
import { journal, type Payments, untilStatus } from '../../../../support/hub/payment.ts';
import { createOffer, orderOf, type Sales, startSales } from '../../../../support/hub/sales.ts';
import { addStripeSlot, CARD, deliver } from '../../../../support/hub/stripe.ts';
import { until } from '../../../../support/until.ts';

const TEN = { minorUnits: 1_000n, currency: 'USD' };

describe('a refund by Stripe', () => {
  let sales: Sales;
  let payments: Payments;
  let refunds: Client<typeof RefundService>;
  let offer: string;
  before(async () => {
    sales = await startSales();
    ({ payments } = sales);
    await addStripeSlot(payments);
    refunds = createClient(RefundService, payments.hub.transport);
    offer = await createOffer(sales, 'card', { prices: [TEN] });
  });
  after(() => sales.stop());

  /** A paid session of 10.00 USD for each license. */
  const sell = async (quantity = 1) => {
    const customer = { name: 'Ada Lovelace', email: 'ada@example.com' };
    const { session } = await payments.sessions.createChargeSession({
      slot: CARD,
      offer,
      quantity,
      customer,
    });
    const { sessionId, providerPaymentId: ref } = session ?? expect.fail();
    payments.simulator.pay(ref);
    await untilStatus(payments, session ?? expect.fail(), 'success');
    const { licenses } = await orderOf(sales, sessionId);
    return { sessionId, ref, licenseIds: licenses.map(({ licenseId }) => licenseId) };
  };
  const isSuspended = async (licenseId = '') => {
    const { license } = await payments.hub.admin.getLicense({ licenseId });
    return license?.state === LicenseState.SUSPENDED;
  };
  const found = async (sessionId: string) => (await refunds.listRefunds({ sessionId })).refunds.toReversed();
  const summary = async (sessionId: string) =>
    (await found(sessionId))
      .map(({ state, amount }) => `${wordFor(REFUND_STATES, state)} ${amount?.minorUnits}`)
      .join(', ');
  const untilSummary = (sessionId: string, wanted: string) =>
    until(async () => (await summary(sessionId)) === wanted, `the refunds are ${wanted}`, 20_000);
  const allProcessed = () =>
    until(
      async () => (await journal(payments)).every(({ state }) => state !== 'received'),
      'all are processed',
      20_000,
    );

  it('of the whole payment, made at Stripe, takes back exactly the license that it paid', async () => {
    const [refunded, other] = [await sell(), await sell()];
    payments.simulator.refund(refunded.ref);
    await untilSummary(refunded.sessionId, 'succeeded 1000');
    expect((await orderOf(sales, refunded.sessionId)).state).to.equal(OrderState.REFUNDED);
    expect(await isSuspended(refunded.licenseIds[0])).to.equal(true);
    expect(await isSuspended(other.licenseIds[0])).to.equal(false);
    // The events say it twice, and Stripe may send each again.
    const events = payments.simulator.stripe
      .events()
      .filter(({ body }) => body.includes(`pi_${refunded.ref.slice(3)}`));
    expect(events.map(({ type }) => type)).to.include.members(['refund.created', 'charge.refunded']);
    for (const event of events) expect((await deliver(payments, event)).status).to.equal(200);
    await allProcessed();
    expect(await summary(refunded.sessionId)).to.equal('succeeded 1000');
    const { usageLogs } = await payments.sessions.inspectChargeSession({ sessionId: refunded.sessionId });
    expect(usageLogs.map(({ amount }) => amount?.minorUnits)).to.deep.equal([1_000n, -1_000n]);
  });

  it('of a part that fits one of two licenses takes nothing, and asks an operator', async () => {
    const { sessionId, ref, licenseIds } = await sell(2);
    payments.simulator.refund(ref, '10.00');
    await untilSummary(sessionId, 'succeeded 1000');
    const [{ reviewReason } = expect.fail()] = await found(sessionId);
    expect(reviewReason).to.contain('1 of 2 licenses');
    for (const licenseId of licenseIds) expect(await isSuspended(licenseId)).to.equal(false);
    // Parts that add up to the whole payment take back the order.
    payments.simulator.refund(ref, '4.00');
    payments.simulator.refund(ref, '6.00');
    // Many callbacks of a session are answered more slowly; an operator need not wait.
    await payments.sessions.recheckChargeSession({ sessionId });
    await untilSummary(sessionId, 'succeeded 1000, succeeded 400, succeeded 600');
    for (const licenseId of licenseIds) expect(await isSuspended(licenseId)).to.equal(true);
  });

  it('of a payment that no session has is stored as unresolved, and nothing else', async () => {
    const object = { id: 're_other', payment_intent: 'pi_of_another_system', charge: 'ch_x', amount: 1_000 };
    const body = JSON.stringify({ id: 'evt_re_other', type: 'refund.created', data: { object } });
    expect((await deliver(payments, { body })).status).to.equal(200);
    await allProcessed();
    const entry = (await journal(payments)).find(({ fields }) => fields['event'] === 'evt_re_other');
    expect(entry).to.deep.include({
      state: 'unresolved',
      reason: 'no session was paid by the payment it names',
    });
  });

  it('that the hub requests is made once, also if the answer is lost', async () => {
    const { sessionId, ref } = await sell();
    payments.simulator.faults.add({ kind: 'empty', operation: 'stripe.refund' });
    await refunds.createRefund({ sessionId, amount: { minorUnits: 300n, currency: 'USD' }, reason: 'lost' });
    await untilSummary(sessionId, 'succeeded 300');
    await refunds.createRefund({ sessionId, reason: 'the rest' });
    await untilSummary(sessionId, 'succeeded 300, succeeded 700');
    expect(payments.simulator.refunds().filter((refund) => refund.ref === ref)).to.have.length(2);
    expect((await orderOf(sales, sessionId)).state).to.equal(OrderState.REFUNDED);
  });

  it('is a dispute if the bank demands the money back: only a lost one takes the license', async () => {
    const [won, lost] = [await sell(), await sell()];
    for (const { sessionId, ref, licenseIds } of [won, lost]) {
      payments.simulator.stripe.dispute(ref);
      await untilSummary(sessionId, 'pending 1000');
      expect(await isSuspended(licenseIds[0])).to.equal(false);
    }
    payments.simulator.stripe.closeDispute(won.ref, 'won');
    payments.simulator.stripe.closeDispute(lost.ref, 'lost');
    await untilSummary(won.sessionId, 'failed 1000');
    await untilSummary(lost.sessionId, 'succeeded 1000');
    expect(await isSuspended(won.licenseIds[0])).to.equal(false);
    expect(await isSuspended(lost.licenseIds[0])).to.equal(true);
  });
});
