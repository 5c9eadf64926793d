// Offers and orders in the console: a real browser, a real hub, and payments at the simulated provider.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { MailState } from '../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../gen/hub/mail/v1/mail_service_pb.ts';
import { type Order, OrderState, RefundPolicy } from '../../gen/hub/order/v1/order_pb.ts';
import { RefundService } from '../../gen/hub/payment/v1/refund_service_pb.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { SLOTS } from '../support/hub/payment.ts';
import {
  blockOrder,
  buyAndPay,
  createOffer,
  orderOf,
  reversePayment,
  type Sales,
  startSales,
} from '../support/hub/sales.ts';
import { type MailServer, startMailServer } from '../support/network/mail-server.ts';
import { activate } from '../support/network/rest.ts';
import { until } from '../support/until.ts';
import { createControls, createRoleTokens, type RoleTokens } from './controls.ts';
import { type Complaints, type Visit, visit } from './visit.ts';

describe('offers and orders in the console', () => {
  let sales: Sales;
  let mailServer: MailServer;
  let browser: Browser;
  let tokens: RoleTokens;
  let here: Visit;
  let page: Page;
  const { main, dialog, begin, submit, field, said } = createControls(() => page);
  const complaints: Complaints = [];
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    mailServer = await startMailServer();
    const smtpUrl = `smtp://127.0.0.1:${mailServer.port}`;
    [sales, browser] = await Promise.all([
      startSales({ settings: { smtpUrl, mailFrom: { name: '', address: 'shop@shop.example' } } }),
      openBrowser({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' }),
    ]);
    tokens = await createRoleTokens(sales.payments.hub, sales.app);
  });
  after(async () => {
    await browser?.close();
    await sales?.stop();
    await mailServer?.close();
  });
  afterEach(() => here?.close());

  const open = async (hash: string, token = tokens.operator): Promise<void> => {
    here = await visit(browser.context, sales.payments.hub.rpcUrl, complaints, hash);
    page = here.page;
    await here.signIn(token);
  };
  const rows = (name: string): Locator =>
    main().getByRole('table', { name, exact: true }).locator('tbody tr');
  const heading = (name: string): Promise<void> => page.getByRole('heading', { name, exact: true }).waitFor();
  const offerOf = async (slug: string) =>
    (await sales.offers.getOffer({ offer: `${sales.app}/${slug}` })).offer;

  describe('an offer', () => {
    it('is created with what it will grant said first', async () => {
      await open('#/offers');
      await main().getByText('There is no such offer.').waitFor();
      await begin('New offer');
      await dialog().getByText('The form is not complete yet.').waitFor();
      await field('Short name').fill('pro');
      await field('Name').fill('Pro');
      await field('Prices of one unit').fill('BDT=100.00\nUSD=9');
      await field('Seats').fill('2');
      await field('Features').fill('export');
      await field('Valid').selectOption('first');
      await field('Years').fill('1');
      await field('Sold on the hub’s own page').selectOption(SLOTS.gateway_one);
      await dialog()
        .getByText('A unit is a license with 2 seats for 1 year, for BDT=100.00 or USD=9.')
        .waitFor();
      await submit('Create');
      await heading('Offer');
      const offer = await offerOf('pro');
      expect(
        offer?.terms?.prices.map(({ currency, minorUnits }) => `${currency} ${minorUnits}`),
      ).to.deep.equal(['BDT 10000', 'USD 900']);
      const grant = offer?.terms?.grant;
      expect(grant?.case === 'license' && grant.value).to.deep.include({
        seatLimit: 2,
        features: ['export'],
      });
      expect(offer?.terms?.pageSlot).to.equal(SLOTS.gateway_one);
      await main().getByText('a license with 2 seats for 1 year').waitFor();
    });

    it('shows each refusal beside its field', async () => {
      await open('#/offers');
      await begin('New offer');
      await field('Short name').fill('Pro!');
      await field('Name').fill('Pro');
      await field('Prices of one unit').fill('USD=1.234');
      await submit('Create');
      await dialog().getByText('USD: USD has only 2 digits after the decimal point.').waitFor();
      await field('Prices of one unit').fill('XXQ=1.00');
      await submit('Create');
      await until(
        async () => (await field('Short name').getAttribute('aria-invalid')) === 'true',
        'it is refused',
      );
      await field('Short name').fill('more');
      await field('Grants').selectOption('seats');
      await field('Seats').fill('5');
      await submit('Create');
      await until(
        async () => (await field('Prices of one unit').getAttribute('aria-invalid')) === 'true',
        'the currency is refused',
      );
      await field('Prices of one unit').fill('USD=20');
      await submit('Create');
      await heading('Offer');
      const { grant } = (await offerOf('more'))?.terms ?? {};
      expect(grant?.case === 'seats' && grant.value.seats).to.equal(5);
    });

    it('gets a new version, unless somebody else changed it meanwhile', async () => {
      const offer = await offerOf('pro');
      await open(`#/offers/${offer?.offerId}`);
      await begin('New version');
      await dialog().getByText('Nothing is changed yet.').waitFor();
      await field('Seats').fill('3');
      await field('On a refund').selectOption('revoke the licenses');
      await dialog().getByText('Seats: 2 → 3').waitFor();
      await dialog().getByText('On a refund: suspend the licenses → revoke the licenses').waitFor();
      await dialog().getByText('This makes version 2.').waitFor();
      const { terms } = offer ?? {};
      if (terms === undefined) throw new Error('the offer has no terms');
      await sales.offers.updateOffer({
        offer: `${sales.app}/pro`,
        terms: { ...terms, name: 'Professional' },
      });
      await submit('Create version');
      await dialog().getByText('Someone else changed this').waitFor();
      await submit('Load the current values');
      await dialog().getByText('This makes version 3.').waitFor();
      await submit('Create version');
      await said('Version 3 of the offer is created.');
      const now = await offerOf('pro');
      expect(now).to.include({ version: 3 });
      expect(now?.terms?.name).to.equal('Professional');
      expect(now?.terms?.onRefund).to.equal(RefundPolicy.REVOKE);
      await main().getByRole('link', { name: '← Version 2' }).click();
      await main().getByText('a license with 2 seats for 1 year').waitFor();
    });

    it('is archived and put on sale again', async () => {
      const offerId = (await offerOf('more'))?.offerId ?? '';
      await open(`#/offers/${offerId}`);
      await begin('Archive');
      await dialog().getByText('Sessions that exist can still be paid').waitFor();
      await submit('Archive');
      await said('The offer is archived.');
      await main().locator('.page-head .badge', { hasText: 'archived' }).waitFor();
      await here.goTo('#/offers');
      await until(async () => (await rows('Offers').count()) === 1, 'only one is for sale');
      await main().getByLabel('Offers').selectOption('archived ones too');
      await until(async () => (await rows('Offers').count()) === 2, 'both are listed');
      await here.goTo(`#/offers/${offerId}`);
      await begin('Unarchive');
      await submit('Unarchive');
      await said('for sale again');
      expect((await offerOf('more'))?.archivedAt).to.equal(undefined);
    });
  });

  describe('an order', () => {
    let sold: Order;
    before(async () => {
      if (sales === undefined) return; // there is no browser
      const bought = await buyAndPay(sales, await createOffer(sales, 'plus'));
      sold = bought.order;
      const { sessionId } = bought.session;
      const { licenses } = await sales.orders.getClaimedOrder({ sessionId, claimToken: bought.claimToken });
      const { gatewayUrl } = sales.payments.hub;
      await activate(gatewayUrl, licenses[0]?.licenseKey ?? '', 'm-1', { machineLabel: 'Study' });
    });

    it('is listed by each filter, with an address that can be shared', async () => {
      await buyAndPay(sales, `${sales.app}/plus`, { gateway: 'gateway_two' });
      await open('#/orders', tokens.viewer);
      const untilListed = (count: number) =>
        until(async () => (await rows('Orders').count()) === count, `${count} orders are listed`);
      await untilListed(2);
      await main().getByLabel('Slot').selectOption(SLOTS.gateway_two);
      await untilListed(1);
      expect(page.url()).to.match(/#\/orders\?slot=wallet$/);
      await main().getByLabel('State').selectOption('blocked');
      await main().getByText('No order matches.').waitFor();
      await here.goTo(`#/orders?license=${sold.licenses[0]?.licenseId}`);
      await untilListed(1);
      await main().getByRole('link', { name: /^ord_/ }).click();
      await heading('Order');
    });

    it('leads from the payment to the machine, and back', async () => {
      const licenseId = sold.licenses[0]?.licenseId ?? '';
      await open(`#/orders/${sold.orderId}`, tokens.viewer);
      const steps = await main().locator('.chain > li').allInnerTexts();
      expect(steps.map((step) => /Payment|Order|License|Machines/.exec(step)?.[0])).to.deep.equal([
        'Payment',
        'Order',
        'License',
        'Machines',
      ]);
      expect(steps[0]).to.contain('100.00 BDT').and.to.contain('success');
      expect(steps[2]).to.contain('issued').and.to.contain('active');
      expect(steps[3]).to.contain('Study');
      await main().locator('.chain').getByRole('link', { name: /^lic_/ }).first().click();
      await heading('License');
      await main().getByRole('table', { name: 'Orders' }).getByRole('link', { name: /^ord_/ }).click();
      await heading('Order');
      await main().locator('.chain').getByRole('link', { name: /^chs_/ }).click();
      await heading('Session');
      await main().getByText('machine activated').waitFor();
      const told = await main().locator('.timeline > li .event strong').allInnerTexts();
      expect(told).to.include.members(['order fulfilled', 'license issued', 'machine activated']);
      expect(await main().locator(`dl a[title=${sold.orderId}]`).count()).to.equal(1);
      await main().locator(`.timeline a[title=${licenseId}]`).first().click();
      await heading('License');
    });

    it('that is blocked is a problem of the overview, and retried after it said what this does', async () => {
      const { orderId, licenseId } = await blockOrder(sales);
      await open('#/');
      await main().getByText('Paid orders that the hub could not fulfill: 1.').waitFor();
      await main().getByRole('link', { name: 'See the reasons, and retry them' }).click();
      await heading('Orders');
      await main().locator(`a[title=${orderId}]`).click();
      await heading('Order');
      await main().getByText('None: the order is blocked.').waitFor();
      await begin('Retry');
      await dialog().locator(`a[title=${licenseId}]`).waitFor();
      expect(await dialog().innerText())
        .to.match(/The hub renews lic_…\w+ by 1 year, by the terms of version 1/)
        .and.to.contain('revoked');
      await submit('Retry');
      await said('The order is still blocked.');
      await sales.payments.hub.admin.reinstateLicense({ licenseId });
      await begin('Retry');
      await submit('Retry');
      await said('The order is fulfilled.');
      await main().locator('.page-head .badge', { hasText: 'fulfilled' }).waitFor();
      expect((await orderOf(sales, orderId)).state).to.equal(OrderState.FULFILLED);
      expect(await main().getByRole('button', { name: 'Retry' }).count()).to.equal(0);
      await main().getByText('renewed until').waitFor();
    });
  });

  describe('a refunded order', () => {
    it('shows why, what was taken back, and no retry', async () => {
      const { session, order } = await buyAndPay(sales, `${sales.app}/plus`);
      await reversePayment(sales, session);
      await open(`#/orders/${order.orderId}`);
      await main().locator('.page-head .badge', { hasText: 'refunded' }).waitFor();
      await main().locator('.lead', { hasText: 'The provider reversed the payment.' }).waitFor();
      await main().locator('.chain').getByText('taken back: suspended').waitFor();
      expect(await main().getByRole('button', { name: 'Retry' }).count()).to.equal(0);
    });
  });

  describe('the mails', () => {
    it('are listed by state and order, and sent again', async () => {
      const { order } = await buyAndPay(sales, `${sales.app}/plus`);
      const { orderId } = order;
      const { listMails } = createClient(MailService, sales.payments.hub.transport);
      const isSent = async () =>
        (await listMails({ order: orderId, state: MailState.SENT })).mails.length === 1;
      await until(isSent, 'the mail of the order is sent');
      await open(`#/mails?order=${orderId}&state=sent`);
      await rows('Mails').locator('.badge', { hasText: 'sent' }).waitFor();
      await rows('Mails').locator(`a[title=${orderId}]`).waitFor();
      const sent = mailServer.mails.length;
      await rows('Mails').getByRole('button', { name: 'Send again' }).click();
      await dialog().getByText('to the present address of the customer').waitFor();
      await submit('Send again');
      await said('The hub sends the mail again.');
      await until(() => mailServer.mails.length === sent + 1, 'the mail is sent again');
      await main().getByLabel('State').selectOption('failed');
      await main().getByText('There is no such mail.').waitFor();
    });

    it('are not sent again by a viewer', async () => {
      await open('#/mails', tokens.viewer);
      await rows('Mails').first().waitFor();
      expect(await main().getByRole('button', { name: 'Send again' }).count()).to.equal(0);
    });
  });

  describe('a refund', () => {
    it('is requested after it said what this does, and one of a part is marked as reviewed', async () => {
      const { session } = await buyAndPay(sales, await createOffer(sales, 'two-units'), {
        gateway: 'gateway_two',
        quantity: 2,
      });
      await open(`#/sessions/${session.sessionId}`);
      await begin('Refund');
      await dialog().getByText('the hub takes back its licenses, by the policy of the offer').waitFor();
      await dialog().getByText('At most 200.00').waitFor();
      await field('Amount in BDT').fill('200.01');
      await field('Reason (for the records of the hub and of the provider)').fill('One was not needed');
      await submit('Refund');
      await dialog().getByText('200.00 BDT is left of the 200.00 BDT paid').waitFor();
      await field('Amount in BDT').fill('100.00');
      await dialog().getByText('The customer keeps what the payment bought.').waitFor();
      await submit('Refund');
      await said('The payment is refunded.');

      await here.goTo(`#/refunds?session=${session.sessionId}&review=needed`);
      await until(async () => (await rows('Refunds').count()) === 1, 'the refund is listed');
      expect(await rows('Refunds').innerText())
        .to.contain('One was not needed')
        .and.contain('100.00');
      await begin('Mark as reviewed');
      await dialog().getByRole('textbox').fill('The customer keeps one license');
      await submit('Mark as reviewed');
      await said('The refund is marked as reviewed.');
      await until(async () => (await rows('Refunds').count()) === 0, 'no refund needs review');
    });

    it('takes commas between thousands, and refuses a decimal comma', async () => {
      const { session } = await buyAndPay(sales, await createOffer(sales, 'eleven-units'), {
        gateway: 'gateway_two',
        quantity: 11,
      });
      const { sessionId } = session;
      const { listRefunds } = createClient(RefundService, sales.payments.hub.transport);
      const amounts = async () =>
        (await listRefunds({ sessionId })).refunds.map(({ amount }) => amount?.minorUnits);
      await open(`#/sessions/${sessionId}`);
      await begin('Refund');
      await field('Reason (for the records of the hub and of the provider)').fill('A discount');
      await field('Amount in BDT').fill('9,50');
      await submit('Refund');
      await dialog().getByText('The decimal sign is a point: give an amount such as 1000.00').waitFor();
      expect(await field('Amount in BDT').getAttribute('aria-invalid')).to.equal('true');
      expect(await amounts()).to.deep.equal([]);
      await field('Amount in BDT').fill('1,000.00');
      await submit('Refund');
      await said('The payment is refunded.');
      expect(await amounts()).to.deep.equal([100_000n]);
    });
  });

  describe('what each role may do', () => {
    it('offers only what the role allows', async () => {
      const { orderId } = await blockOrder(sales);
      const { offerId } = (await offerOf('pro')) ?? {};
      const { createToken } = createClient(TokenService, sales.payments.hub.transport);
      const scope = { apps: [sales.app], slots: [SLOTS.gateway_one] };
      const { token: ofBoth } = await createToken({ name: 'shop', role: Role.SERVICE, ...scope });
      const found: Record<string, string[]> = {};
      for (const [name, token] of Object.entries({ ...tokens, ofBoth })) {
        await open('#/', token);
        const views = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();
        found[name] = views.filter((title) => title === 'Orders' || title === 'Offers');
        for (const hash of ['#/offers', `#/offers/${offerId}`, `#/orders/${orderId}`, '#/orders']) {
          await here.goTo(hash);
          await main().locator('table, dl, [role=alert], p').first().waitFor();
          found[name].push(...(await main().locator('.page-head button').allInnerTexts()));
          const isRefused = (await main().getByRole('alert').count()) > 0;
          expect(isRefused, `${name} at ${hash}`).to.equal(name === 'ofApp' && hash.startsWith('#/orders/'));
        }
        await here.close();
      }
      expect(found).to.deep.equal({
        operator: ['Orders', 'Offers', 'New offer', 'New version', 'Archive', 'Retry'],
        viewer: ['Orders', 'Offers'],
        ofApp: ['Offers'],
        ofBoth: ['Orders', 'Offers'],
      });
    });
  });

  describe('after all tests', () => {
    it('has caused no errors, no policy violations, and no external requests', () => {
      expect(complaints).to.deep.equal([]);
    });
  });
});
