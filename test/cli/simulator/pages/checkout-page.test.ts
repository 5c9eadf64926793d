// The checkout page in a real browser, with and without JavaScript.
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Simulator, startSimulator } from '../../../../cli/simulator/simulator.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../../../support/chromium.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from '../merchant.ts';

const NASTY = `"><script>document.title='owned'</script>&amp;'`;

for (const javaScriptEnabled of [true, false]) {
  describe(`the checkout page in a browser ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, () => {
    let browser: Browser;
    let page: Page;
    let simulator: Simulator;
    let merchant: Merchant;
    before(async function () {
      this.timeout(INSTALLATION_MS);
      const missing = await findChromium();
      if (missing !== undefined) {
        process.stderr.write(`    ${missing}\n`);
        return this.skip();
      }
      browser = await openBrowser({ javaScriptEnabled });
    });
    after(() => browser?.close());
    beforeEach(async () => {
      [simulator, merchant] = await Promise.all([startSimulator({ port: 0 }), openMerchant()]);
      page = await browser.context.newPage();
    });
    afterEach(async () => {
      await page?.close();
      await Promise.all([simulator?.close(), merchant?.close()]);
    });

    const openStore = async (fields: Record<string, string> = {}) => {
      const { body } = await storeOf(simulator, merchant).initiate({ tran_id: 'T1', ...fields });
      await page.goto(body.GatewayPageURL);
    };
    const openWallet = async () => {
      const wallet = walletOf(simulator, merchant);
      const { body } = await wallet.create((await wallet.grant()).body.id_token);
      await page.goto(body.bkashURL);
    };
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const state = () => simulator.payments()[0]?.state;

    it('shows merchant, amount and order as escaped text', async () => {
      await openStore({ product_name: NASTY, tran_id: '<b>T1</b>' });
      expect(await page.title()).to.equal('Pay 100.00 BDT');
      const text = await page.getByRole('main').innerText();
      expect(text).to.contain(NASTY).and.contain('<b>T1</b>').and.contain('simulated-store');
      expect(await page.locator('main script, main b').count()).to.equal(0);
    });

    it('loads nothing from other hosts, and uses its own style', async () => {
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await openStore();
      expect(asked.filter((url) => !url.startsWith(simulator.url))).to.deep.equal([]);
      const { width } = (await page.getByRole('main').boundingBox()) ?? {};
      expect(width).to.be.below(600); // as narrow as the style makes it
    });

    it('pays: notifies the merchant, confirms it, and redirects the customer with the same fields', async () => {
      await openStore();
      await press('Pay 100.00 BDT');
      expect(await page.getByRole('status').innerText()).to.match(/^Paid/);
      await simulator.idle();
      const notified = merchant.received.find(({ path }) => path === '/notify')?.fields;
      expect(notified).to.include({ status: 'VALID', tran_id: 'T1' });
      if (!javaScriptEnabled) await press('Return to simulated-store');
      await page.waitForURL(`${merchant.url}/paid`);
      expect(merchant.received.at(-1)).to.deep.equal({ method: 'POST', path: '/paid', fields: notified });
      expect(simulator.totals()).to.deep.equal({ BDT: 10_000n });
    });

    it('fails and cancels, and lets the customer pay afterwards', async () => {
      await openStore();
      const url = page.url();
      await press('Fail');
      expect(await page.getByRole('status').innerText()).to.match(/^Failed/);
      await page.goto(url);
      await press('Cancel');
      expect(await page.getByRole('status').innerText()).to.match(/^Cancelled/);
      await press('Return to simulated-store');
      await page.waitForURL(`${merchant.url}/cancelled`);
      await page.goto(url);
      await press('Pay after all 100.00 BDT');
      expect(await page.getByRole('status').innerText()).to.match(/^Paid/);
      await simulator.idle();
      const statuses = merchant.received
        .filter(({ path }) => path === '/notify')
        .map(({ fields }) => fields['status']);
      expect(statuses).to.deep.equal(['FAILED', 'CANCELLED', 'VALID']);
      await page.goto(url);
      expect(await page.getByRole('button').count()).to.equal(0);
    });

    it('authorizes with gateway_two and redirects the customer at once', async () => {
      await openWallet();
      await press('Authorize 100.00 BDT');
      await page.waitForURL(/\/back\?session_id=chs_1&paymentID=TR.*&status=success/);
      expect(merchant.received).to.have.length(1);
      expect(state()).to.equal('authorized');
    });

    it('declines and cancels with gateway_two', async () => {
      await openWallet();
      await press('Fail');
      await page.waitForURL(/status=failure/);
      await openWallet();
      await press('Cancel');
      await page.waitForURL(/status=cancel/);
      expect(simulator.payments().map((payment) => payment.state)).to.deep.equal(['failed', 'cancelled']);
    });

    it('lets the customer authorize with gateway_two and close the tab, without a callback', async () => {
      await openWallet();
      await press('Authorize and close the tab without returning');
      expect(await page.getByRole('status').innerText()).to.match(/^Authorized/);
      expect(state()).to.equal('authorized');
      expect(merchant.received).to.deep.equal([]);
    });

    it('works with the keyboard', async () => {
      await openStore();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.getByRole('status').innerText()).to.match(/^Failed/);
    });

    it('reports an unknown checkout', async () => {
      const answer = await page.goto(`${simulator.urls.gateway_one}/checkout/NONE`);
      expect(answer?.status()).to.equal(404);
      expect(await page.getByRole('heading').innerText()).to.equal('Unknown checkout');
    });
  });
}
