// Purchases in a real browser: from a shop or the hub's own page, through the checkout of each gateway, to the key.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../../support/chromium.ts';
import { GATEWAYS, type GatewayName, SLOTS } from '../../support/hub/payment.ts';
import { createOffer, type Sales, startSales } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { openShop, type TestShop } from './test-shop.ts';

const PAY = { gateway_one: 'Pay 100.00 BDT', gateway_two: 'Authorize 100.00 BDT' } as const;

describe('a purchase in a browser', () => {
  let sales: Sales;
  let shop: TestShop;
  let browser: Browser;
  let page: Page;
  let axe: string;
  /** To browsers, the hub is another site than the provider, which is at 127.0.0.1. */
  let hubUrl: string;
  const log: string[] = [];
  const addresses: string[] = [];
  const violations: string[] = [];
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    const port = await freePort();
    hubUrl = `http://localhost:${port}`;
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    [sales, browser] = await Promise.all([
      startSales({
        settings: { port, publicUrl: hubUrl, licenseRatePerMinute: 10_000 },
        log: { write: (line) => log.push(line) },
      }),
      openBrowser({ permissions: ['clipboard-read', 'clipboard-write'] }),
    ]);
    await createOffer(sales, 'pro', {
      pageSlot: SLOTS.gateway_one,
      downloadUrl: 'https://example.com/app.zip',
    });
    await createOffer(sales, 'wallet', { pageSlot: SLOTS.gateway_two });
    shop = await openShop(sales, `${sales.app}/pro`, sales.payments.hub.gatewayUrl);
    browser.context.on('request', (request) => {
      const { cookie: _, ...headers } = request.headers();
      addresses.push(`${request.url()} ${JSON.stringify(headers)} ${request.postData() ?? ''}`);
    });
  });
  after(async () => {
    shop?.close();
    await browser?.close();
    await sales?.stop();
  });
  beforeEach(async () => {
    page = await browser.context.newPage();
    page.on('pageerror', ({ message }) => violations.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        violations.push(message.text());
    });
  });
  afterEach(() => page?.close());

  /** Pays on the page of the provider, and lets the browser return. */
  const payAt = async (gateway: GatewayName, on = page): Promise<void> => {
    await on.getByRole('button', { name: PAY[gateway], exact: true }).click();
    if (gateway === 'gateway_one')
      await on.getByRole('button', { name: 'Return to simulated-store' }).click();
  };
  const activates = async (key: string): Promise<void> => {
    expect(key).to.match(/^[\w-]{20,}$/);
    expect((await activate(sales.payments.hub.gatewayUrl, key, 'machine')).status).to.equal(200);
  };
  const judge = async (where: string, on = page): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await on.emulateMedia({ colorScheme });
      if ((await on.evaluate('typeof axe')) === 'undefined') await on.evaluate(axe);
      const result = await on.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
      const found = result.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' and ')}`,
      );
      expect(found, `${where}, ${colorScheme}`).to.deep.equal([]);
    }
  };
  const startOnOwnPage = async (offer: string): Promise<void> => {
    await page.goto(`${hubUrl}/buy/${sales.app}/${offer}`);
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('100.00 BDT').check();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    await page.getByText('Simulator: no real money moves').waitFor();
  };

  for (const gateway of GATEWAYS) {
    it(`of a shop ends on the shop's page with a key that activates, through ${gateway}`, async () => {
      const answers: string[] = [];
      page.on('response', (response) => {
        if (response.url().includes('/v1/webhooks/')) {
          answers.push(`${response.status()} ${response.headers()['content-type']}`);
        }
      });
      // The browser brings what the notification would have brought.
      sales.payments.simulator.faults.add({ kind: 'lost', operation: 'callback' });
      await page.goto(`${shop.url}/buy/${gateway}`);
      await payAt(gateway);
      await page.waitForURL(/\/paid\?cart=7&session_id=chs_/);
      expect(await page.locator('h1').innerText()).to.equal('paid');
      await activates(await page.locator('code').innerText());
      expect(answers).to.deep.equal(gateway === 'gateway_two' ? ['200 text/plain; charset=utf-8'] : []);
      sales.payments.simulator.faults.clear();
    });

    it(`of a shop ends on the shop's page after it is cancelled, through ${gateway}`, async () => {
      await page.goto(`${shop.url}/buy/${gateway}`);
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
      if (gateway === 'gateway_one')
        await page.getByRole('button', { name: 'Return to simulated-store' }).click();
      await page.waitForURL(/\/paid\?cart=7&session_id=chs_/);
      expect(await page.locator('h1').innerText()).to.equal('cancelled');
    });

    it(`on the hub's own page ends there with a key that activates, through ${gateway}`, async () => {
      await startOnOwnPage(gateway === 'gateway_one' ? 'pro' : 'wallet');
      await payAt(gateway);
      await page.waitForURL(`${hubUrl}/orders/chs_*`);
      await page.getByRole('heading', { name: 'Thank you for your payment' }).waitFor();
      const key = await page.locator('code').innerText();
      await activates(key);
      await page.getByRole('button', { name: 'Copy key' }).click();
      await page.getByText('Copied.').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(key);
      const downloads = page.getByRole('link', { name: 'Download' });
      expect(await downloads.count()).to.equal(gateway === 'gateway_one' ? 1 : 0);
      await judge('the paid order');
    });
  }

  it('waits for a payment that the provider confirms later, without a click', async () => {
    await startOnOwnPage('pro');
    const [{ sessionId = '' } = {}] = (await sales.payments.sessions.listChargeSessions({})).sessions;
    const waiting = await browser.context.newPage();
    await waiting.goto(`${hubUrl}/orders/${sessionId}`);
    await waiting.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    await judge('the waiting order', waiting);
    await page.getByRole('button', { name: PAY.gateway_one, exact: true }).click();
    await waiting.getByRole('heading', { name: 'Thank you for your payment' }).waitFor({ timeout: 20_000 });
    await activates(await waiting.locator('code').innerText());
    await waiting.close();
  });

  it('shows the key in no other browser', async () => {
    await startOnOwnPage('pro');
    await payAt('gateway_one');
    await page.waitForURL(`${hubUrl}/orders/chs_*`);
    const key = await page.locator('code').innerText();
    const other = await openBrowser();
    try {
      const there = await other.context.newPage();
      await there.goto(page.url());
      await there.getByRole('heading', { name: 'This browser cannot show the order' }).waitFor();
      expect(await there.content()).not.to.contain(key);
      await judge('the order of another browser', there);
    } finally {
      await other.close();
    }
  });

  it('is possible by keyboard and screen reader', async () => {
    await page.goto(`${hubUrl}/buy/${sales.app}/pro`);
    await judge('the offer');
    await page.getByLabel('Email').fill('ada@example');
    await page.getByLabel('Email').press('Enter');
    await page.getByRole('alert').waitFor();
    await judge('the offer with a mistake');
    await page.goto(`${hubUrl}/buy/${sales.app}/none`);
    await judge('an unknown offer');
  });

  it('shows a claim token in no address, log line or header but its cookie, and breaks no policy', async () => {
    const cookies = (await browser.context.cookies(`${hubUrl}/orders/`)).filter(
      ({ name }) => name === 'hub_claim',
    );
    expect(cookies).to.deep.equal([]); // each has the path of its order
    const kept = (await browser.context.cookies()).filter(({ name }) => name === 'hub_claim');
    expect(kept.length).to.be.greaterThan(2);
    for (const cookie of kept)
      expect(cookie).to.include({ httpOnly: true, sameSite: 'Lax', domain: 'localhost' });
    const tokens = [...kept.map(({ value }) => value), ...shop.claims.values()];
    expect(tokens.length).to.be.greaterThan(6);
    const logged = log.join('');
    for (const name of [
      'CreateChargeSession',
      '/v1/orders/{sessionId}',
      '/buy/{app}/{offer}',
      '/orders/{sessionId}',
    ])
      expect(logged).to.contain(name);
    for (const token of tokens) {
      expect(logged).not.to.contain(token);
      expect(addresses.join('\n')).not.to.contain(token);
    }
    expect(violations).to.deep.equal([]);
  });
});
