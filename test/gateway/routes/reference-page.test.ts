// The reference page of a hub in a real browser.
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../../support/chromium.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { OPERATIONS } from '../openapi/contract.ts';

describe('the reference page in a browser', () => {
  let hub: TestHub;
  let browser: Browser;
  let page: Page;
  /** What the page complained of, and what it asked for elsewhere. */
  let complaints: string[];
  let elsewhere: string[];
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    [hub, browser] = await Promise.all([startHub(), openBrowser()]);
  });
  after(() => Promise.all([browser?.close(), hub?.stop()]));
  beforeEach(async () => {
    [complaints, elsewhere] = [[], []];
    page = await browser.context.newPage();
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(hub.gatewayUrl) && !request.url().startsWith('data:'))
        elsewhere.push(request.url());
    });
  });
  afterEach(() => page?.close());

  const open = async (): Promise<void> => {
    await page.goto(`${hub.gatewayUrl}/docs`);
    await page
      .locator('.opblock')
      .nth(OPERATIONS.length - 1)
      .waitFor();
  };

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`shows all operations, without errors or external requests, in ${colorScheme} colors`, async () => {
      await page.emulateMedia({ colorScheme });
      await open();
      const paths = await page.locator('.opblock .opblock-summary-path').allInnerTexts();
      const shown = paths.map((path) => path.replaceAll('\u200b', '')); // where lines may break
      expect(shown.sort()).to.deep.equal(OPERATIONS.map(({ path }) => path).sort());
      await page.locator('#operations-Licenses-activate .opblock-summary').click();
      const operation = page.locator('#operations-Licenses-activate');
      await operation.getByText('signature').first().waitFor();
      expect(await operation.innerText())
        .to.contain('seat_limit_reached')
        .and.contain('machineFingerprint');
      const background = String(
        await page.evaluate('getComputedStyle(document.documentElement).backgroundColor'),
      );
      expect(background).to.match(colorScheme === 'dark' ? /^rgb\((\d\d?), / : /^rgba\(0, 0, 0, 0\)$/);
      expect(complaints).to.deep.equal([]);
      expect(elsewhere).to.deep.equal([]);
    });
  }

  it('tries an operation out', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    await open();
    const operation = page.locator('#operations-Licenses-checkStatus');
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByPlaceholder('licenseId').fill(licenseId);
    await operation.getByPlaceholder('fp').fill('');
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table tr.response');
    await answer.getByText('recheckAfterSeconds').waitFor();
    expect(await answer.innerText()).to.contain(licenseId);
    expect(complaints).to.deep.equal([]);
    expect(elsewhere).to.deep.equal([]);
  });
});
