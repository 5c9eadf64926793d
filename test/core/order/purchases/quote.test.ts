// Sessions that buy an offer: their price, their customer, and requests that are refused.
import { create } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { MoneySchema } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { buy, createOffer, type Sales, startSales } from '../../../support/hub/sales.ts';

describe('a session that buys an offer', () => {
  let sales: Sales;
  let pro: string;
  let renewal: string;
  before(async () => {
    sales = await startSales();
    pro = await createOffer(sales, 'pro');
    const grant = { case: 'renewal', value: { by: { years: 1 } } } as const;
    renewal = await createOffer(sales, 'renewal', { grant });
  });
  after(() => sales.stop());

  const refusal = async (work: Promise<unknown>) => {
    const error = ConnectError.from(
      await work.then(
        () => expect.fail('it was not refused'),
        (reason) => reason,
      ),
    );
    const [detail] = error.findDetails(ErrorDetailSchema);
    return { code: detail?.code, field: detail?.field };
  };

  it('costs the price times the quantity, and shows its purchase', async () => {
    const { session, claimToken } = await buy(sales, pro, { quantity: 3, currency: 'USD' });
    expect(session.amount).to.include({ minorUnits: 2_700n, currency: 'USD' });
    expect(session.purchase).to.include({ offer: pro, offerVersion: 1, quantity: 3, licenseId: '' });
    expect(session.purchase?.customerId).to.match(/^cus_/);
    expect(claimToken).to.match(/^claim_/);
    const listed = await sales.payments.sessions.listChargeSessions({ pageSize: 1 });
    expect(listed.sessions[0]?.purchase).to.include({ offer: pro });
  });

  it('accepts the amount that the offer has, and no other', async () => {
    const amount = (minorUnits: bigint) => ({ minorUnits, currency: 'BDT' });
    const { session } = await buy(sales, pro, { amount: amount(10_000n), currency: '' });
    expect(session.amount).to.include({ minorUnits: 10_000n });
    expect(await refusal(buy(sales, pro, { amount: amount(1n) }))).to.deep.equal({
      code: 'amount_invalid',
      field: 'amount',
    });
  });

  it('finds the same customer again by the email address', async () => {
    const customer = { name: 'Grace', email: 'Grace@example.com' };
    const first = await buy(sales, pro, { customer });
    const second = await buy(sales, pro, { customer: { email: 'grace@EXAMPLE.com' } });
    expect(second.session.purchase?.customerId).to.equal(first.session.purchase?.customerId);
  });

  it('is the same session for a repeated request, also after a new version of the offer', async () => {
    const offer = await createOffer(sales, 'repeated');
    const first = await buy(sales, offer, { idempotencyKey: 'repeated' });
    const prices = [create(MoneySchema, { minorUnits: 77n, currency: 'BDT' })];
    const { offer: found } = await sales.offers.getOffer({ offer });
    if (found?.terms === undefined) throw new Error('the offer has terms');
    await sales.offers.updateOffer({ offer, terms: { ...found.terms, prices } });
    const again = await buy(sales, offer, { idempotencyKey: 'repeated' });
    expect(again.session.sessionId).to.equal(first.session.sessionId);
    expect(again.claimToken).to.not.equal(first.claimToken);
    const { sessionId } = first.session;
    for (const { claimToken } of [first, again]) {
      expect(await sales.orders.getClaimedOrder({ sessionId, claimToken })).to.include({ orderId: '' });
    }
    const other = buy(sales, offer, { idempotencyKey: 'repeated', quantity: 2 });
    expect(await refusal(other)).to.include({ code: 'idempotency_key_reused' });
  });

  it('is refused if the offer, its currency or the license does not fit', async () => {
    const { admin } = sales.payments.hub;
    const { licenses } = await admin.issueLicenses({ app: sales.app, count: 2, seatLimit: 1 });
    const [forever = '', revoked = ''] = licenses.map(({ license }) => license?.licenseId ?? '');
    await admin.revokeLicense({ licenseId: revoked, reason: 'test' });
    const cases = [
      [() => buy(sales, `${sales.app}/none`), { code: 'offer_unknown', field: 'offer' }],
      [() => buy(sales, pro, { currency: 'EUR' }), { code: 'currency_not_offered', field: 'currency' }],
      [() => buy(sales, pro, { currency: '' }), { code: 'currency_not_offered', field: 'currency' }],
      [() => buy(sales, pro, { licenseId: forever }), { code: 'purchase_invalid', field: 'licenseId' }],
      [() => buy(sales, renewal), { code: 'purchase_invalid', field: 'licenseId' }],
      [
        () => buy(sales, renewal, { licenseId: forever }),
        { code: 'license_not_sellable', field: 'licenseId' },
      ],
      [
        () => buy(sales, renewal, { licenseId: revoked }),
        { code: 'license_not_sellable', field: 'licenseId' },
      ],
      [() => buy(sales, renewal, { licenseId: 'lic_x' }), { code: 'license_unknown', field: 'licenseId' }],
      [() => buy(sales, pro, { customerId: 'cus_x' }), { code: 'customer_unknown', field: 'customerId' }],
      [
        () =>
          sales.payments.sessions.createChargeSession({
            slot: 'store',
            quantity: 2,
            amount: { minorUnits: 1n, currency: 'BDT' },
          }),
        { code: 'purchase_invalid', field: 'quantity' },
      ],
      [
        () => sales.payments.sessions.createChargeSession({ slot: 'store' }),
        { code: 'amount_invalid', field: 'amount' },
      ],
    ] as const;
    for (const [call, expected] of cases) expect(await refusal(call())).to.deep.equal(expected);
  });

  it('has a language that is a tag, or none', async () => {
    for (const language of ['', 'en', 'bn-BD', 'zh-Hant-TW']) {
      expect((await buy(sales, pro, { language })).session.sessionId).to.match(/^chs_/);
    }
    for (const language of ['en_US', '../../x', 'en\r\nBcc: a@example.com', 'e', '-']) {
      const error = await buy(sales, pro, { language }).catch(ConnectError.from);
      expect((error as ConnectError).rawMessage).to.contain('language: must be a language as a BCP 47 tag');
    }
  });
});
