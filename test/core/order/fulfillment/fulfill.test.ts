// A paid session grants what its offer sells: one order, and its licenses.
import { expect } from 'chai';
import { OrderState } from '../../../../gen/hub/order/v1/order_pb.ts';
import { GATEWAYS } from '../../../support/hub/payment.ts';
import {
  blockOrder,
  buyAndPay,
  createOffer,
  orderOf,
  type Sales,
  startSales,
} from '../../../support/hub/sales.ts';
import { activate } from '../../../support/network/rest.ts';

describe('a paid session with an offer', () => {
  let sales: Sales;
  let pro: string;
  before(async () => {
    sales = await startSales();
    pro = await createOffer(sales, 'pro');
  });
  after(() => sales.stop());

  for (const gateway of GATEWAYS) {
    it(`issues a license at ${gateway}, whose key activates and which the claim token shows`, async () => {
      const { order, session, claimToken } = await buyAndPay(sales, pro, { gateway });
      expect(order).to.include({ state: OrderState.FULFILLED, quantity: 1, offer: pro, offerVersion: 1 });
      expect(order.sessionId).to.equal(session.sessionId);
      expect(order.customerId).to.match(/^cus_/);
      const [granted] = order.licenses;
      const { hub } = sales.payments;
      const { license } = await hub.admin.getLicense({ licenseId: granted?.licenseId ?? '' });
      expect(license).to.deep.include({ features: ['export'], customerId: order.customerId });
      expect(license?.validFor).to.include({ years: 1 });

      const claim = await sales.orders.getClaimedOrder({ sessionId: session.sessionId, claimToken });
      expect(claim.licenses).to.have.length(1);
      const [{ licenseKey, licenseId } = { licenseKey: '', licenseId: '' }] = claim.licenses;
      expect(licenseId).to.equal(granted?.licenseId);
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine')).status).to.equal(200);
    });
  }

  it('issues as many licenses as the quantity', async () => {
    const { order, session } = await buyAndPay(sales, pro, { quantity: 3 });
    expect(order.licenses).to.have.length(3);
    expect(session.amount).to.include({ minorUnits: 30_000n, currency: 'BDT' });
    expect((await orderOf(sales, session.sessionId)).orderId).to.equal(order.orderId);
  });

  it('renews a license, and adds seats to it', async () => {
    const renewal = await createOffer(sales, 'renewal', {
      grant: { case: 'renewal', value: { by: { years: 1 } } },
    });
    const seats = await createOffer(sales, 'seats', { grant: { case: 'seats', value: { seats: 5 } } });
    const { admin, gatewayUrl } = sales.payments.hub;
    const { licenses } = await admin.issueLicenses({ app: sales.app, seatLimit: 1, validFor: { years: 1 } });
    const [{ licenseKey, license } = { licenseKey: '', license: undefined }] = licenses;
    const licenseId = license?.licenseId ?? '';
    await activate(gatewayUrl, licenseKey, 'machine');

    const renewed = await buyAndPay(sales, renewal, { licenseId, quantity: 2 });
    const [change] = renewed.order.licenses;
    expect(change).to.include({ licenseId, issued: false });
    const years = (at: { seconds: bigint } | undefined) =>
      new Date(Number(at?.seconds) * 1000).getUTCFullYear();
    expect(years(change?.expiresAfter) - years(change?.expiresBefore)).to.equal(2);

    const { order } = await buyAndPay(sales, seats, { licenseId });
    expect(order.licenses[0]).to.include({ licenseId, issued: false, seatsAdded: 5 });
    const after = await admin.getLicense({ licenseId });
    expect(after.license?.seats?.limit).to.equal(6);
  });

  it('blocks the order of a license that was revoked, and fulfills it at a retry', async () => {
    const { orderId, licenseId } = await blockOrder(sales);
    const blocked = await orderOf(sales, orderId);
    expect(blocked).to.include({ state: OrderState.BLOCKED });
    expect(blocked.reason).to.contain('revoked');
    await sales.payments.hub.admin.reinstateLicense({ licenseId });
    const { order } = await sales.orders.retryOrder({ order: blocked.orderId });
    expect(order).to.include({ state: OrderState.FULFILLED, orderId: blocked.orderId, reason: '' });
    expect(order?.licenses).to.have.length(1);
  });
});
