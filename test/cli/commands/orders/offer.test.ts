// The commands that define offers and sell them.
import { expect } from 'chai';
import { SLOTS } from '../../../support/hub/payment.ts';
import { type Sales, startSales } from '../../../support/hub/sales.ts';
import { expectPrinted } from '../../expect-schema.ts';
import { runHere } from '../../run-here.ts';

describe('hubctl offer', () => {
  let sales: Sales;
  before(async () => {
    sales = await startSales();
  });
  after(() => sales.stop());

  const run = (words: string[]) => runHere(words, sales.payments.hub);
  /** What a command prints, as its manual describes it. */
  const json = async (line: string, ...more: string[]) => {
    const words = [...line.split(' '), ...more];
    const { code, stdout, stderr } = await run([...words, '--output', 'json']);
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted(words.slice(0, 2).join(' '), JSON.parse(stdout));
    return JSON.parse(stdout);
  };
  const refusal = async (line: string, ...more: string[]) => {
    const { code, stdout, stderr } = await run([...line.split(' '), ...more, '--output', 'json']);
    expect(stdout).to.equal('');
    const { error } = JSON.parse(stderr);
    return { code, message: error.message, error: error.code };
  };

  it('creates offers of each kind', async () => {
    const { app } = sales;
    await sales.payments.hub.admin.setLimitProfile({ app, name: 'pro', limits: { users: 5n } });
    const pro = await json(
      `offer create --app ${app} --slug pro --name Pro --price BDT=100.00 --price USD=9.00 --seats 2`,
      ...['--feature', 'export', '--valid-for', '1y', '--limit', 'projects=10', '--profile', 'pro'],
      ...['--grace-days', '14', '--lease-days', '7', '--metadata', 'plan=pro', '--sign-metadata', 'plan'],
      ...['--page-slot', SLOTS.gateway_one, '--download-url', 'https://shop.example.com/app'],
    );
    expect(pro.offerId).to.match(/^ofr_/);
    expect(pro).to.deep.include({
      app,
      slug: 'pro',
      version: 1,
      name: 'Pro',
      prices: [
        { amount: '100.00', minorUnits: 10_000, currency: 'BDT' },
        { amount: '9.00', minorUnits: 900, currency: 'USD' },
      ],
      grants: 'license',
      seats: 2,
      limits: { projects: 10 },
      limitProfile: 'pro',
      features: ['export'],
      validFor: { years: 1, months: 0, days: 0 },
      graceDays: 14,
      leaseDays: 7,
      metadata: { plan: 'pro' },
      signedMetadata: ['plan'],
      pageSlot: SLOTS.gateway_one,
      downloadUrl: 'https://shop.example.com/app',
    });
    const create = `offer create --app ${app} --price JPY=500`;
    expect(await json(`${create} --slug renewal --name Renewal --grants renewal --by 1y6m`)).to.deep.include({
      grants: 'renewal',
      by: { years: 1, months: 6, days: 0 },
    });
    const seats = await json(`${create} --slug seats --name Seats --grants seats --seats 5`);
    expect(seats).to.include({ grants: 'seats', seats: 5 }).and.not.have.any.keys('features', 'by');
    expect((await json(`offer list --app ${app}`)).map(({ slug }: { slug: string }) => slug)).to.deep.equal([
      'seats',
      'renewal',
      'pro',
    ]);
    const { stdout } = await run(['offer', 'list', '--app', app]);
    expect(stdout)
      .to.contain('100.00 BDT, 9.00 USD  a license with 2 seats for 1 year')
      .and.contain('a renewal by 1 year and 6 months')
      .and.contain('5 more seats');
  });

  it('changes the given terms, as a new version, and keeps the others', async () => {
    const offer = `${sales.app}/pro`;
    const changed = await json(
      `offer update ${offer} --price USD=12.50 --price EUR=11 --remove-price BDT --seats unlimited`,
      ...['--feature', 'sync', '--remove-feature', 'export', '--no-valid-for', '--no-profile'],
      ...['--remove-metadata', 'plan', '--no-page-slot'],
    );
    expect(changed).to.deep.include({
      version: 2,
      name: 'Pro',
      prices: [
        { amount: '11.00', minorUnits: 1_100, currency: 'EUR' },
        { amount: '12.50', minorUnits: 1_250, currency: 'USD' },
      ],
      seats: -1,
      limits: { projects: 10 },
      features: ['sync'],
      graceDays: 14,
      leaseDays: 7,
      metadata: {},
      signedMetadata: [],
      downloadUrl: 'https://shop.example.com/app',
    });
    expect(changed).not.to.have.any.keys('validFor', 'limitProfile', 'pageSlot');
    expect(await json(`offer show ${changed.offerId} --offer-version 1`)).to.deep.include({
      version: 1,
      features: ['export'],
    });
    const { stderr } = await run(['offer', 'update', offer, '--name', 'Pro']);
    expect(stderr).to.equal('Nothing changed: the offer has these terms already.\n');
    expect(await json(`offer update ${sales.app}/renewal --by 30d`)).to.deep.include({
      by: { years: 0, months: 0, days: 30 },
    });
  });

  it('refuses a change that would overwrite another one', async () => {
    const offer = `${sales.app}/pro`;
    const names = ['one', 'two', 'three', 'four', 'five'];
    const updates = await Promise.all(
      names.map((name) => run(['offer', 'update', offer, '--feature', name])),
    );
    const stored = names.filter((_, index) => updates[index]?.code === 0);
    expect(stored).not.to.have.length(0);
    expect((await json(`offer show ${offer}`)).features).to.have.members(['sync', ...stored]);
    for (const { stderr } of updates.filter(({ code }) => code !== 0))
      expect(stderr).to.contain('read it again before you change it');
  });

  it('archives an offer, and puts it on sale again', async () => {
    const offer = `${sales.app}/seats`;
    const list = async () => (await json(`offer list --app ${sales.app}`)).length;
    expect(await json(`offer archive ${offer}`)).to.have.property('archivedAt');
    expect([await list(), (await json(`offer list --all --app ${sales.app}`)).length]).to.deep.equal([2, 3]);
    expect((await run(['offer', 'archive', offer])).stderr).to.contain('archived already');
    expect(await json(`offer unarchive ${offer}`)).not.to.have.property('archivedAt');
    expect(await list()).to.equal(3);
  });

  it('names what is wrong with a command', async () => {
    const create = `offer create --app ${sales.app} --slug new --name New`;
    const wrong: [line: string, message: string][] = [
      [`${create} --price 100`, 'Give a currency and an amount, such as USD=9.00.'],
      [`${create} --price usd=1`, 'Write USD.'],
      [`${create} --price USD=1 --price USD=2`, 'The price in USD is given twice.'],
      [`${create} --price JPY=1.5`, 'JPY has no digits after the decimal point.'],
      [`${create} --price USD=1 --grants renewal`, '--grants renewal: give the period with --by'],
      [`${create} --price USD=1 --grants seats`, '--grants seats: give their number with --seats'],
      [
        `${create} --price USD=1 --by 1y`,
        '--by belongs to offers of a renewal. This offer grants new licenses.',
      ],
      [`offer update ${sales.app}/pro`, 'Give a term to change, such as --price.'],
      [`offer update ${sales.app}/pro --remove-price BDT`, 'the offer has no price in BDT'],
      [`offer update ${sales.app}/pro --price USD=1 --remove-price USD`, 'contradict each other for USD'],
      [`offer update ${sales.app}/renewal --remove-price JPY`, 'the offer needs a price'],
      [
        `offer update ${sales.app}/renewal --seats 2`,
        '--seats belongs to offers of new licenses or more seats',
      ],
    ];
    for (const [line, message] of wrong) {
      const refused = await refusal(line);
      expect(refused, line).to.include({ code: 2, error: 'usage' });
      expect(refused.message, line).to.contain(message);
    }
    expect(await refusal(`${create} --price XXQ=1`)).to.include({ error: 'amount_invalid' });
    const { message } = await refusal(`offer show ${sales.app}/por`);
    expect(message).to.contain('hubctl offer list').and.contain(`Did you mean ${sales.app}/pro?`);
    expect((await refusal('offer show chs_01k8e7qk3vf2tb5s0w9m4x6ydz')).message).to.contain(
      'this is the id of a charge session',
    );
  });

  it('sells an offer with session create, and prints the claim token', async () => {
    const offer = `${sales.app}/seats`;
    const { licenses } = await sales.payments.hub.admin.issueLicenses({ app: sales.app, customer: 'Ada' });
    const licenseId = licenses[0]?.license?.licenseId ?? '';
    const customerId = licenses[0]?.license?.customerId ?? '';
    const sold = await json(
      `session create --slot ${SLOTS.gateway_one} --offer ${offer} --quantity 2 --license ${licenseId} --customer-id ${customerId}`,
      ...['--return-url', 'http://127.0.0.1:9/thanks', '--language', 'bn-BD', '--order', 'ORD-1'],
    );
    expect(sold).to.deep.include({
      amount: '1000',
      currency: 'JPY',
      language: 'bn-BD',
      orderReference: 'ORD-1',
    });
    expect(sold.purchase).to.include({ offer, quantity: 2, licenseId, customerId, offerVersion: 1 });
    expect(sold.returnUrl).to.contain('http://127.0.0.1:9/thanks');
    expect(sold.claimToken).to.match(/^\S{20,}$/);
    const { sessionId } = sold;
    const claimed = await sales.orders.getClaimedOrder({ sessionId, claimToken: sold.claimToken });
    expect(claimed.orderId).to.equal('');
    expect(await json(`session show ${sessionId}`)).not.to.have.property('claimToken');
    const { stdout } = await run(['session', 'show', sessionId]);
    expect(stdout).to.match(new RegExp(`^Sells +2 × ${offer}, version 1$`, 'm'));

    const create = `session create --slot ${SLOTS.gateway_one}`;
    expect((await refusal(create)).message).to.equal('Give --amount and --currency, or --offer.');
    expect((await refusal(`${create} --amount 1 --currency BDT --license ${licenseId}`)).message).to.equal(
      '--license needs an offer: give --offer.',
    );
    const { message } = await refusal(`${create} --offer ${sales.app}/pro`);
    expect(message).to.contain('--currency').and.contain('choose EUR or USD');
    expect(await refusal(`${create} --offer ${sales.app}/pro --currency USD --amount 1.00`)).to.include({
      error: 'amount_invalid',
    });
    expect(await refusal(`${create} --offer ${offer}`)).to.include({ error: 'purchase_invalid' });
  });
});
