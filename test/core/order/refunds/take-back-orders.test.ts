// A reversed payment takes back what its order gave, and a later payment gives it again, once.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { LicenseState } from '../../../../gen/hub/license/v1/license_pb.ts';
import { OrderState, RefundPolicy, TakenBack } from '../../../../gen/hub/order/v1/order_pb.ts';
import { RefundState } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../../gen/hub/payment/v1/refund_service_pb.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { GATEWAYS, pay } from '../../../support/hub/payment.ts';
import {
  blockOrder,
  buy,
  buyAndPay,
  createOffer,
  orderOf,
  restorePayment,
  reversePayment,
  type Sales,
  startSales,
} from '../../../support/hub/sales.ts';
import { activate, checkStatus } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';

const YEAR_MS = 365 * 86_400_000;

describe('a reversed payment of an order', () => {
  let sales: Sales;
  let renewal: string;
  let seats: string;
  before(async () => {
    sales = await startSales();
    const period = { case: 'renewal', value: { by: { days: 365 } } } as const;
    renewal = await createOffer(sales, 'renewal', { grant: period });
    seats = await createOffer(sales, 'seats', { grant: { case: 'seats', value: { seats: 5 } } });
  });
  after(() => sales?.stop());

  const admin = () => sales.payments.hub.admin;
  const licenseOf = async (licenseId: string) => {
    const { license } = await admin().getLicense({ licenseId });
    if (license === undefined) throw new Error(`there is no license ${licenseId}`);
    return license;
  };
  const expiryOf = async (licenseId: string): Promise<number> => {
    const { expiresAt } = await licenseOf(licenseId);
    return Number(expiresAt?.seconds) * 1_000;
  };
  /** The types of the events of an object, the oldest first. */
  const eventsOf = async (objectId: string): Promise<string[]> => {
    const rows = await query<{ type: string }>(
      sales.payments.hub.databaseUrl,
      `select type from (select type, object_id, number from event
                         union all select type, unnest(object_ids), 1000000 + position from event_outbox) e
       where object_id = $1 order by number`,
      [parseId('ord', objectId) ?? parseId('lic', objectId)],
    );
    return rows.map(({ type }) => type);
  };
  const issue = () => issueLicense(admin(), { app: sales.app, seatLimit: 1, validFor: { days: 30 } });
  /** A license whose validity has begun. */
  const issueBegun = async () => {
    const issued = await issue();
    await activate(sales.payments.hub.gatewayUrl, issued.licenseKey, 'machine');
    return issued;
  };

  for (const gateway of GATEWAYS) {
    it(`suspends the licenses at ${gateway}, until the payment stands again`, async () => {
      const pro = await createOffer(sales, `pro-${gateway.replace('_', '-')}`);
      const { order, session, claimToken } = await buyAndPay(sales, pro, { gateway, quantity: 2 });
      const { gatewayUrl } = sales.payments.hub;
      const { sessionId } = session;
      const [issued] = (await sales.orders.getClaimedOrder({ sessionId, claimToken })).licenses;
      const licenseKey = issued?.licenseKey ?? '';

      const refunded = await reversePayment(sales, session);
      expect(refunded).to.include({
        orderId: order.orderId,
        state: OrderState.REFUNDED,
        reason: 'the provider reversed the payment',
      });
      expect(refunded.refundedAt).to.not.equal(undefined);
      for (const { licenseId, takenBack } of refunded.licenses) {
        expect(takenBack).to.equal(TakenBack.SUSPENDED);
        const { state, suspendReason } = await licenseOf(licenseId);
        expect(state).to.equal(LicenseState.SUSPENDED);
        expect(suspendReason).to.equal(`the provider reversed the payment of order ${order.orderId}`);
      }
      expect((await activate(gatewayUrl, licenseKey, 'machine')).body.code).to.equal('license_suspended');
      expect((await checkStatus(gatewayUrl, issued?.licenseId ?? '')).status).to.equal(410);
      const claim = await sales.orders.getClaimedOrder({ sessionId, claimToken });
      expect(claim).to.deep.include({ orderState: OrderState.REFUNDED, licenses: [] });
      expect(await reversePaymentAgain(session.sessionId), 'once').to.equal(refunded.refundedAt?.seconds);

      const again = await restorePayment(sales, session);
      expect(again).to.include({ orderId: order.orderId, state: OrderState.FULFILLED, reason: '' });
      expect(again.refundedAt).to.equal(undefined);
      expect(again.licenses.map(({ licenseId }) => licenseId)).to.deep.equal(
        order.licenses.map(({ licenseId }) => licenseId),
      );
      expect((await activate(gatewayUrl, licenseKey, 'machine')).status).to.equal(200);
      expect(await eventsOf(order.orderId)).to.deep.equal([
        'order.fulfilled',
        'order.refunded',
        'order.fulfilled',
      ]);
      const lifetime = await eventsOf(order.licenses[1]?.licenseId ?? '');
      expect(lifetime).to.deep.equal(['license.issued', 'license.suspended', 'license.resumed']);
    });
  }

  async function reversePaymentAgain(sessionId: string): Promise<bigint | undefined> {
    await sales.payments.sessions.recheckChargeSession({ sessionId });
    return (await orderOf(sales, sessionId)).refundedAt?.seconds;
  }

  it('revokes or keeps them by the policy of the version that was sold', async () => {
    const offer = await createOffer(sales, 'strict', { onRefund: RefundPolicy.REVOKE });
    const strict = await buyAndPay(sales, offer);
    const { offer: found } = await sales.offers.getOffer({ offer });
    const { terms } = found ?? {};
    if (terms === undefined) throw new Error('the offer has no terms');
    expect(terms.onRefund).to.equal(RefundPolicy.REVOKE);
    await sales.offers.updateOffer({ offer, terms: { ...terms, onRefund: RefundPolicy.KEEP } });
    const lenient = await buyAndPay(sales, offer);

    const [revoked] = (await reversePayment(sales, strict.session)).licenses;
    expect(revoked?.takenBack).to.equal(TakenBack.REVOKED);
    const licenseId = revoked?.licenseId ?? '';
    expect((await licenseOf(licenseId)).state).to.equal(LicenseState.REVOKED);
    await restorePayment(sales, strict.session);
    expect((await licenseOf(licenseId)).state).to.equal(LicenseState.ACTIVE);

    const [kept] = (await reversePayment(sales, lenient.session)).licenses;
    expect(kept?.takenBack).to.equal(TakenBack.KEPT);
    expect((await licenseOf(kept?.licenseId ?? '')).state).to.equal(LicenseState.ACTIVE);
    expect((await restorePayment(sales, lenient.session)).state).to.equal(OrderState.FULFILLED);
  });

  it('takes back the period of a renewal only, although the license was renewed since', async () => {
    const { licenseId } = await issueBegun();
    const first = await expiryOf(licenseId);
    const taken = await buyAndPay(sales, renewal, { licenseId });
    await buyAndPay(sales, renewal, { licenseId, quantity: 2 });
    expect(await expiryOf(licenseId)).to.equal(first + 3 * YEAR_MS);

    const refunded = await reversePayment(sales, taken.session);
    expect(await expiryOf(licenseId)).to.equal(first + 2 * YEAR_MS);
    const [undone] = refunded.licenses;
    expect(undone?.takenBack).to.equal(TakenBack.UNDONE);
    expect(undone?.timeTakenMs).to.equal(BigInt(YEAR_MS));

    const again = await restorePayment(sales, taken.session);
    expect(await expiryOf(licenseId)).to.equal(first + 3 * YEAR_MS);
    expect(again.licenses[0]?.timeTakenMs).to.equal(0n);
    await reversePayment(sales, taken.session);
    expect(await expiryOf(licenseId), 'a second reversal').to.equal(first + 2 * YEAR_MS);
    expect((await eventsOf(licenseId)).slice(-3)).to.deep.equal([
      'license.updated',
      'license.renewed',
      'license.updated',
    ]);
  });

  it('takes back the seats, and says how many machines are left over', async () => {
    const { licenseId, licenseKey } = await issue();
    const { session } = await buyAndPay(sales, seats, { licenseId });
    const { gatewayUrl } = sales.payments.hub;
    for (const machine of ['a', 'b', 'c']) await activate(gatewayUrl, licenseKey, machine);

    const refunded = await reversePayment(sales, session);
    expect((await licenseOf(licenseId)).seats).to.include({ limit: 1, used: 3 });
    expect(refunded.licenses[0]).to.include({ takenBack: TakenBack.UNDONE, seatsTaken: 5 });
    expect(refunded.reason).to.contain(`license ${licenseId} has 2 more active machines than seats`);
    expect((await activate(gatewayUrl, licenseKey, 'c')).status, 'a machine with a seat').to.equal(200);
    expect((await activate(gatewayUrl, licenseKey, 'd')).body.code).to.equal('seat_limit_reached');

    await restorePayment(sales, session);
    expect((await licenseOf(licenseId)).seats).to.include({ limit: 6, used: 3 });
  });

  it('leaves a license as an operator has changed it, and says so', async () => {
    const pro = await createOffer(sales, 'changed');
    const { session, order } = await buyAndPay(sales, pro, { quantity: 4 });
    const ids = order.licenses.map(({ licenseId }) => licenseId);
    const [before = '', since = '', transferred = '', plain = ''] = ids;
    await admin().suspendLicense({ licenseId: before, reason: 'abuse' });
    const refunded = await reversePayment(sales, session);
    expect(refunded.reason).to.contain(`license ${before} had been suspended before`);
    await admin().resumeLicense({ licenseId: since });
    await admin().suspendLicense({ licenseId: since, reason: 'fraud' });
    const { customer } = await createClient(CustomerService, sales.payments.hub.transport).createCustomer({
      name: 'Grace Hopper',
    });
    const customerId = customer?.customerId ?? '';
    await admin().transferLicense({ licenseId: transferred, customerId });

    const again = await restorePayment(sales, session);
    expect(again.state).to.equal(OrderState.FULFILLED);
    expect(again.reason).to.contain(`license ${since} stays suspended: an operator suspended it`);
    expect(again.reason).to.contain(`license ${transferred} stays suspended: it has another customer`);
    const states = await Promise.all(ids.map(async (id) => (await licenseOf(id)).suspendReason));
    const [own, byHand, moved, active] = states;
    expect([own, byHand, active]).to.deep.equal(['abuse', 'fraud', undefined]);
    expect(moved).to.contain('reversed');
    expect((await licenseOf(plain)).state).to.equal(LicenseState.ACTIVE);
  });

  it('refunds a blocked order, which a retry then leaves alone and a later payment fulfills', async () => {
    const { orderId, licenseId } = await blockOrder(sales);
    const { sessionId } = await orderOf(sales, orderId);
    const { session } = await sales.payments.sessions.getChargeSession({ sessionId });
    if (session === undefined) throw new Error('the session is gone');
    const refunded = await reversePayment(sales, session);
    expect(refunded).to.deep.include({ state: OrderState.REFUNDED, licenses: [] });
    await admin().reinstateLicense({ licenseId });
    const refusal = await sales.orders.retryOrder({ order: orderId }).catch(String);
    expect(refusal).to.contain('was refunded');
    const again = await restorePayment(sales, session);
    expect(again).to.include({ state: OrderState.FULFILLED, reason: '' });
    expect(again.licenses).to.have.length(1);
  });

  it('blocks the order of a later payment if its license was revoked, until a retry gives it again', async () => {
    const { licenseId } = await issueBegun();
    const { session } = await buyAndPay(sales, renewal, { licenseId });
    const renewed = await expiryOf(licenseId);
    await reversePayment(sales, session);
    await admin().revokeLicense({ licenseId, reason: 'chargeback' });
    const blocked = await restorePayment(sales, session);
    expect(blocked.state).to.equal(OrderState.BLOCKED);
    expect(blocked.reason).to.contain('revoked');
    expect(await expiryOf(licenseId)).to.equal(renewed - YEAR_MS);
    await reversePayment(sales, session);
    expect(await expiryOf(licenseId), 'a reversal of the blocked order').to.equal(renewed - YEAR_MS);
    await restorePayment(sales, session);
    await admin().reinstateLicense({ licenseId });
    for (const _ of ['first', 'second']) await sales.orders.retryOrder({ order: blocked.orderId });
    expect((await orderOf(sales, blocked.orderId)).state).to.equal(OrderState.FULFILLED);
    expect(await expiryOf(licenseId)).to.equal(renewed);
  });

  it('is like a full refund, while refunds of a part ask an operator about the units that they pay for', async () => {
    const pro = await createOffer(sales, 'in-parts');
    const { session, order, claimToken } = await buyAndPay(sales, pro, {
      gateway: 'gateway_two',
      quantity: 3,
    });
    const { sessionId } = session;
    const refunds = createClient(RefundService, sales.payments.hub.transport);
    const refund = async (minorUnits?: bigint) => {
      const amount = minorUnits === undefined ? {} : { amount: { minorUnits, currency: 'BDT' } };
      const { refund: made } = await refunds.createRefund({ sessionId, reason: 'returned', ...amount });
      expect(made?.state).to.equal(RefundState.SUCCEEDED);
      return made?.reviewReason;
    };
    expect(await refund(5_000n), 'less than a license').to.equal('');
    expect(await refund(15_000n)).to.contain(
      `the refunds of order ${order.orderId} cover the price of 2 of 3 licenses`,
    );
    expect((await orderOf(sales, sessionId)).state).to.equal(OrderState.FULFILLED);
    const inReview = async () => (await refunds.listRefunds({ sessionId, needsReview: true })).refunds.length;
    expect(await inReview()).to.equal(1);

    expect(await refund()).to.equal('');
    expect(await inReview(), 'a full refund leaves nothing to decide').to.equal(0);
    const refunded = await orderOf(sales, sessionId);
    expect(refunded).to.include({ state: OrderState.REFUNDED, reason: 'the payment was refunded' });
    for (const { licenseId } of refunded.licenses) {
      const { suspendReason } = await licenseOf(licenseId);
      expect(suspendReason).to.equal(`the payment of order ${order.orderId} was refunded`);
    }
    const claim = await fetch(`${sales.payments.hub.gatewayUrl}/v1/orders/${sessionId}`, {
      headers: { authorization: `Bearer ${claimToken}` },
    });
    expect(await claim.json()).to.deep.include({ status: 'refunded', orderState: 'refunded', licenses: [] });
    expect(await sales.orders.retryOrder({ order: order.orderId }).catch(String)).to.contain('was refunded');
  });

  it('is recorded although the database refuses to take the license back', async () => {
    const pro = await createOffer(sales, 'guarded');
    const { session, order } = await buyAndPay(sales, pro);
    const licenseId = order.licenses[0]?.licenseId ?? '';
    const { databaseUrl } = sales.payments.hub;
    const id = parseId('lic', licenseId);
    const guard = `check (id <> '${id}' or suspended_at is null)`;
    await query(databaseUrl, `alter table license add constraint never_suspended ${guard}`);
    try {
      const refunded = await reversePayment(sales, session);
      expect(refunded.state).to.equal(OrderState.REFUNDED);
      expect(refunded.reason).to.contain('nothing was taken back').and.to.contain('never_suspended');
      expect(refunded.licenses[0]?.takenBack).to.equal(TakenBack.KEPT);
    } finally {
      await query(databaseUrl, 'alter table license drop constraint never_suspended');
    }
    expect((await licenseOf(licenseId)).state).to.equal(LicenseState.ACTIVE);
  });

  it('leaves no activation that succeeds after it', async () => {
    const pro = await createOffer(sales, 'raced', {
      grant: { case: 'license', value: { seatLimit: -1 } },
    });
    const { session, claimToken } = await buy(sales, pro);
    await pay(sales.payments, session);
    const { sessionId } = session;
    const [issued] = (await sales.orders.getClaimedOrder({ sessionId, claimToken })).licenses;
    const { gatewayUrl } = sales.payments.hub;
    let refundedAt = Number.POSITIVE_INFINITY;
    const late: number[] = [];
    const machines = Array.from({ length: 8 }, async (_, machine) => {
      for (let round = 0; round < 40; round++) {
        const began = performance.now();
        const name = `machine ${machine}, ${round % 5}`;
        const { status } = await activate(gatewayUrl, issued?.licenseKey ?? '', name);
        if (began > refundedAt) late.push(status);
      }
    });
    await reversePayment(sales, session);
    refundedAt = performance.now();
    await Promise.all(machines);
    expect(late).to.not.have.length(0);
    expect(new Set(late)).to.deep.equal(new Set([410]));
  });
});
