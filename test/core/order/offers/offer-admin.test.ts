// Offers: versions, refusals, archiving and lists.
import { create } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { MoneySchema } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { createOffer, type Sales, startSales } from '../../../support/hub/sales.ts';

describe('an offer', () => {
  let sales: Sales;
  before(async () => {
    sales = await startSales();
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

  it('gets a new version with each change of its terms, and keeps the earlier ones', async () => {
    const offer = await createOffer(sales, 'versions');
    const { offer: first } = await sales.offers.getOffer({ offer });
    if (first?.terms === undefined) throw new Error('the offer has terms');
    const same = await sales.offers.updateOffer({ offer, terms: first.terms });
    expect(same).to.include({ changed: false });
    const prices = [create(MoneySchema, { minorUnits: 12_000n, currency: 'BDT' })];
    const next = { ...first.terms, prices };
    const updated = await sales.offers.updateOffer({ offer, terms: next, expectedVersion: 1 });
    expect(updated.offer).to.include({ version: 2, offerId: first.offerId });
    expect(await refusal(sales.offers.updateOffer({ offer, terms: next, expectedVersion: 1 }))).to.deep.equal(
      {
        code: 'version_conflict',
        field: 'expectedVersion',
      },
    );
    const old = await sales.offers.getOffer({ offer, version: 1 });
    expect(old.offer?.terms?.prices).to.have.length(2);
    expect(await refusal(sales.offers.getOffer({ offer, version: 3 }))).to.include({ code: 'offer_unknown' });
  });

  const cases = {
    'a second price in a currency': [
      { prices: [1n, 2n].map((minorUnits) => ({ minorUnits, currency: 'BDT' })) },
      { code: 'offer_invalid', field: 'terms.prices' },
    ],
    'a price of zero': [
      { prices: [{ minorUnits: 0n, currency: 'BDT' }] },
      { code: 'amount_invalid', field: 'terms.prices' },
    ],
    'an unknown currency': [
      { prices: [{ minorUnits: 1n, currency: 'XXY' }] },
      { code: 'amount_invalid', field: 'terms.prices.currency' },
    ],
    'an empty period': [
      { grant: { case: 'renewal', value: { by: {} } } },
      { code: 'period_invalid', field: 'terms.renewal.by' },
    ],
    'an unknown limit profile': [
      { grant: { case: 'license', value: { limitProfile: 'none' } } },
      { code: 'limit_profile_unknown', field: 'limitProfile' },
    ],
    'a page for a renewal': [
      { pageSlot: 'store', grant: { case: 'renewal', value: { by: { years: 1 } } } },
      { code: 'offer_invalid', field: 'terms.pageSlot' },
    ],
    'a script as a download address': [
      { downloadUrl: 'javascript:alert(1)' },
      { code: 'offer_invalid', field: 'terms.downloadUrl' },
    ],
  } as const;
  for (const [what, [terms, expected]] of Object.entries(cases)) {
    it(`is refused with ${what}`, async () => {
      expect(await refusal(createOffer(sales, 'refused', terms as object))).to.deep.equal(expected);
    });
  }

  it('is unique within its app, and keeps its kind of grant', async () => {
    const offer = await createOffer(sales, 'unique');
    expect(await refusal(createOffer(sales, 'unique'))).to.deep.equal({
      code: 'offer_exists',
      field: 'slug',
    });
    const { offer: found } = await sales.offers.getOffer({ offer });
    const grant = { case: 'seats', value: { seats: 1 } } as const;
    const prices = found?.terms?.prices ?? [];
    expect(
      await refusal(sales.offers.updateOffer({ offer, terms: { name: 'x', prices, grant } })),
    ).to.include({
      code: 'offer_invalid',
    });
  });

  it('that is archived leaves the list and is not for sale, until it is put back', async () => {
    const offer = await createOffer(sales, 'archived');
    const { app } = sales;
    const listed = async (includeArchived = false) =>
      (await sales.offers.listOffers({ app, includeArchived })).offers.map(({ slug }) => slug);
    expect(await listed()).to.include('archived');
    expect(await sales.offers.archiveOffer({ offer })).to.include({ changed: true });
    expect(await sales.offers.archiveOffer({ offer })).to.include({ changed: false });
    expect(await listed()).to.not.include('archived');
    expect(await listed(true)).to.include('archived');
    const buying = sales.payments.sessions.createChargeSession({ slot: 'store', offer, currency: 'BDT' });
    expect(await refusal(buying)).to.deep.equal({ code: 'offer_archived', field: 'offer' });
    await sales.offers.unarchiveOffer({ offer });
    expect(await listed()).to.include('archived');
  });
});
