// Purchases by payment links of Stripe, which the hub does not start: a real hub, and the simulator.

import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { LinkPurchase } from '../../../../../cli/simulator/stripe/account.ts';
import { LicenseAdminService } from '../../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { type JournalEntry, journal, type Payments } from '../../../../support/hub/payment.ts';
import { createOffer, type Sales, startSales } from '../../../../support/hub/sales.ts';
import { addStripeSlot, CARD, deliver } from '../../../../support/hub/stripe.ts';
import { query } from '../../../../support/postgres/databases.ts';
import { until } from '../../../../support/until.ts';

const PRICE = 'price_pro';

describe('a purchase by a payment link of Stripe', () => {
  let sales: Sales;
  let payments: Payments;
  let offer: string;
  before(async () => {
    sales = await startSales();
    ({ payments } = sales);
    await addStripeSlot(payments);
    // The hub of the webhook is known from a checkout session.
    await payments.sessions.createChargeSession({
      slot: CARD,
      amount: { minorUnits: 100n, currency: 'USD' },
    });
    offer = await createOffer(sales, 'pro', { catalogPrices: [{ gateway: 'stripe', price: PRICE }] });
  });
  after(() => sales.stop());

  const buy = (changes: Partial<LinkPurchase> = {}): string =>
    payments.simulator.stripe.buy({
      price: PRICE,
      amount: '9.00',
      currency: 'USD',
      email: 'guest@example.com',
      name: 'Grace Hopper',
      ...changes,
    });
  const entryOf = async (ref: string): Promise<JournalEntry | undefined> =>
    (await journal(payments)).find(({ fields }) => fields['checkout_session'] === ref);
  const processed = async (ref: string): Promise<JournalEntry> => {
    await until(
      async () => ((await entryOf(ref))?.state ?? 'received') !== 'received',
      `${ref} is processed`,
    );
    return (await entryOf(ref)) ?? expect.fail();
  };
  const orderOf = async (ref: string) => {
    const { sessionId = '' } = await processed(ref);
    const { order } = await sales.orders.getOrder({ order: sessionId });
    return order ?? expect.fail();
  };

  it('becomes a session of its own: verified, with an order, a license, and the customer of the checkout', async () => {
    const ref = buy();
    const { state, sessionId } = await processed(ref);
    expect(state).to.equal('settled');
    const { session, verifications } = await payments.sessions.inspectChargeSession({ sessionId });
    expect(session).to.deep.include({
      providerPaymentId: ref,
      slot: CARD,
      gatewayTransactionId: `pi_${ref.slice(3)}`,
    });
    expect(session?.customer).to.include({ email: 'guest@example.com', name: 'Grace Hopper' });
    expect(verifications.map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['query', 'pending'],
      ['query', 'paid'],
    ]);
    const order = await orderOf(ref);
    expect(order).to.deep.include({ offer, quantity: 1 });
    const admin = createClient(LicenseAdminService, payments.hub.transport);
    const { license } = await admin.getLicense({ licenseId: order.licenses[0]?.licenseId ?? '' });
    expect(license?.customer).to.equal('Grace Hopper');
  });

  it('again by the same customer gives another license; the same event again does not', async () => {
    const [first, second] = [
      buy({ email: 'twice@example.com' }),
      buy({ email: 'Twice@example.com', quantity: 2 }),
    ];
    const [one, two] = [await orderOf(first), await orderOf(second)];
    expect([one.licenses.length, two.licenses.length]).to.deep.equal([1, 2]);
    expect(one.customerId).to.equal(two.customerId).and.not.equal('');
    const ids = [...one.licenses, ...two.licenses].map(({ licenseId }) => licenseId);
    expect(new Set(ids).size).to.equal(3);
    const event =
      payments.simulator.stripe.events().find(({ body }) => body.includes(first)) ?? expect.fail();
    await Promise.all([deliver(payments, event), deliver(payments, event), deliver(payments, event)]);
    await until(
      async () => (await journal(payments)).every(({ state }) => state !== 'received'),
      'all are processed',
    );
    const { orders } = await sales.orders.listOrders({ pageSize: 100 });
    expect(orders.filter(({ sessionId }) => sessionId === one.sessionId)).to.have.length(1);
    expect((await orderOf(first)).licenses).to.deep.equal(one.licenses);
  });

  it('is found again after Stripe did not answer', async () => {
    payments.simulator.faults.add({ kind: 'error_500', operation: 'stripe.retrieve' });
    const ref = buy();
    expect((await processed(ref)).state).to.equal('settled');
  });

  it('of a price that no offer names, or of an archived offer, is stored as unresolved, and nothing else', async () => {
    const old = await createOffer(sales, 'old', {
      catalogPrices: [{ gateway: 'stripe', price: 'price_old' }],
    });
    await sales.offers.archiveOffer({ offer: old });
    const before = (await payments.sessions.listChargeSessions({ pageSize: 1_000 })).sessions.length;
    for (const price of ['price_other', 'price_old']) {
      expect(await processed(buy({ price }))).to.deep.include({
        state: 'unresolved',
        reason: `no offer names the price ${price}`,
      });
    }
    await processed(buy());
    expect((await payments.sessions.listChargeSessions({ pageSize: 1_000 })).sessions).to.have.length(
      before + 1,
    );
  });

  it('of the price of an archived offer is one of the offer that names it now', async () => {
    const catalogPrices = [{ gateway: 'stripe', price: 'price_moved' }];
    const former = await createOffer(sales, 'former', { catalogPrices });
    await sales.offers.archiveOffer({ offer: former });
    const current = await createOffer(sales, 'current', { catalogPrices });

    const refusal = await sales.offers.unarchiveOffer({ offer: former }).catch((error) => String(error));
    expect(refusal).to.contain(`the offer ${current} names price_moved already`);
    const order = await orderOf(buy({ price: 'price_moved' }));
    expect(order).to.deep.include({ offer: current });
    expect(order.licenses).to.have.length(1);

    await sales.offers.archiveOffer({ offer: current });
    expect((await sales.offers.unarchiveOffer({ offer: former })).changed).to.equal(true);
    expect(await orderOf(buy({ price: 'price_moved' }))).to.deep.include({ offer: former });
  });

  it('of a price that several offers name is stored as unresolved, with this reason', async () => {
    const catalogPrices = [{ gateway: 'stripe', price: 'price_shared' }];
    const archived = await createOffer(sales, 'shared-one', { catalogPrices });
    await sales.offers.archiveOffer({ offer: archived });
    await createOffer(sales, 'shared-two', { catalogPrices });
    // Only concurrent changes make several offers name a price.
    await query(payments.hub.databaseUrl, `update offer set archived_at = null where slug = 'shared-one'`);
    expect(await processed(buy({ price: 'price_shared' }))).to.deep.include({
      state: 'unresolved',
      reason: 'several offers name the price price_shared',
    });
  });

  it('needs a price that one offer of new licenses names', async () => {
    const price = { gateway: 'stripe', price: PRICE };
    const renewal = { case: 'renewal', value: { by: { years: 1 } } } as const;
    for (const terms of [
      { catalogPrices: [price] },
      { catalogPrices: [{ gateway: 'gateway_one', price: 'x' }] },
      { catalogPrices: [{ ...price, price: 'prod_pro' }] },
      {
        catalogPrices: [
          { ...price, price: 'price_twice' },
          { ...price, price: 'price_twice' },
        ],
      },
      { catalogPrices: [{ ...price, price: 'price_more' }], grant: renewal },
    ]) {
      const refusal = await createOffer(sales, 'another', terms).catch((error) => String(error));
      expect(refusal, JSON.stringify(terms)).to.match(
        /names price_pro already|not a gateway with a catalog|named twice|only offers of new licenses|"prod_pro" is not the id of a price/,
      );
    }
    const { offer: current } = await sales.offers.getOffer({ offer });
    const { changed } = await sales.offers.updateOffer({ offer, terms: current?.terms ?? {} });
    expect(changed).to.equal(false);
  });
});
