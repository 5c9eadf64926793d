// Accessibility of the console: screen readers, keyboards and small screens, in both themes.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { expect } from 'chai';
import type { Order } from '../../gen/hub/order/v1/order_pb.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { journal } from '../support/hub/payment.ts';
import { blockOrder, buyAndPay, createOffer, salesOf } from '../support/hub/sales.ts';
import { type Fixture, startFixture } from './fixture.ts';
import { type Complaints, visit } from './visit.ts';

/** Only the contrast of colors depends on the theme. */
const RULES = [
  ['light', ''],
  ['dark', `runOnly: ['color-contrast'],`],
] as const;

describe('the accessibility of the console', () => {
  let fixture: Fixture;
  let browser: Browser;
  let axe: string;
  let sold: Order;
  let blocked: string;
  const complaints: Complaints = [];
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    [fixture, browser] = await Promise.all([startFixture(), openBrowser()]);
    const sales = await salesOf(fixture.payments);
    ({ order: sold } = await buyAndPay(sales, await createOffer(sales, 'pro'), { quantity: 2 }));
    blocked = (await blockOrder(sales)).orderId;
  });
  after(async () => {
    await browser?.close();
    await fixture?.stop();
  });

  const open = (hash = '') => visit(browser.context, fixture.payments.hub.rpcUrl, complaints, hash);
  /** An address of each view. */
  const views = async (): Promise<string[]> => {
    const { sessions, license, events, payments } = fixture;
    const [callback] = await journal(payments, sessions.dead);
    return [
      '#/',
      '#/sessions',
      `#/sessions/${sessions.reversed.sessionId}`,
      `#/sessions/${sessions.waiting.sessionId}`,
      `#/sessions/${sold.sessionId}`,
      '#/orders',
      `#/orders/${sold.orderId}`,
      `#/orders/${blocked}`,
      '#/offers?shown=all',
      `#/offers/${sold.offerId}`,
      `#/licenses/${sold.licenses[0]?.licenseId}`,
      '#/callbacks?state=all',
      '#/callbacks?state=unresolved',
      `#/callbacks/${callback?.callbackId}`,
      '#/refunds',
      '#/mails',
      '#/usage',
      '#/slots',
      '#/licenses',
      `#/licenses/${license.licenseId}?released=shown`,
      '#/customers',
      `#/customers/${license.customerId}`,
      '#/apps',
      '#/events',
      `#/events?object=${license.licenseId}&type=license.*`,
      `#/events/${events.acceptedId}`,
      `#/events/${events.refusedId}`,
      '#/endpoints',
      `#/endpoints/${events.endpointId}`,
      `#/endpoints/${events.endpointId}?state=failed`,
      '#/health',
      '#/audit',
      '#/sessions?order=none',
      '#/sessions/chs_none',
      '#/nothing',
    ];
  };

  it('has no axe violations in either theme', async () => {
    const { page, signIn, goTo, close } = await open();
    const found: string[] = [];
    const judge = async (where: string): Promise<void> => {
      // By the debugger, so that the policy of the page stays in force.
      if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
      for (const [colorScheme, rules] of RULES) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const { violations } = await page.evaluate<AxeResults>(
          `axe.run({ ${rules} resultTypes: ['violations'] })`,
        );
        for (const { id, nodes } of violations) {
          const elements = nodes.map(({ html }) => html.slice(0, 160)).join(' and ');
          found.push(`${where}, ${colorScheme}: ${id} at ${elements}`);
        }
      }
    };
    await judge('sign-in');
    await signIn(fixture.payments.hub.token);
    for (const hash of await views()) {
      await goTo(hash);
      for (const summary of await page.locator('details > summary').all()) await summary.click();
      await judge(hash);
    }
    await goTo(`#/licenses/${fixture.license.licenseId}`);
    for (const action of ['Revoke', 'Edit', 'Transfer', 'Show key']) {
      await page.getByRole('button', { name: action, exact: true }).click();
      await judge(action);
      await page.keyboard.press('Escape');
    }
    await goTo(`#/endpoints/${fixture.events.endpointId}`);
    for (const action of ['Test', 'Edit', 'Rotate secret', 'Disable', 'Remove']) {
      await page.getByRole('button', { name: action, exact: true }).click();
      await judge(`${action} of an endpoint`);
      await page.keyboard.press('Escape');
    }
    await goTo(`#/orders/${blocked}`);
    await page.getByRole('button', { name: 'Retry' }).click();
    await judge('Retry of an order');
    await page.keyboard.press('Escape');
    await goTo(`#/sessions/${sold.sessionId}`);
    await page.getByRole('button', { name: 'Refund', exact: true }).click();
    await judge('Refund of a payment');
    await page.keyboard.press('Escape');
    await goTo(`#/offers/${sold.offerId}`);
    for (const action of ['New version', 'Archive']) {
      await page.getByRole('button', { name: action, exact: true }).click();
      await judge(`${action} of an offer`);
      await page.keyboard.press('Escape');
    }
    await goTo('#/licenses');
    await page.getByRole('button', { name: 'Issue license' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('More terms').click();
    await dialog.getByLabel('Seats').fill('many');
    await dialog.getByRole('button', { name: 'Issue' }).click();
    await dialog.getByText('Enter a whole number.').waitFor();
    await judge('a form with an error');
    await dialog.getByLabel('Seats').fill('2');
    await dialog.getByRole('button', { name: 'Issue' }).click();
    await dialog.getByLabel('License key').waitFor();
    await judge('a license key');
    await close();
    expect(found.join('\n')).to.equal('');
  });

  it('fits a screen of 360 pixels, with a menu', async () => {
    const { page, signIn, goTo, close } = await open();
    await page.setViewportSize({ width: 360, height: 740 });
    const tooWide: string[] = [];
    const measure = async (where: string): Promise<void> => {
      const width = await page.evaluate('document.documentElement.scrollWidth');
      if (width !== 360) tooWide.push(`${where}: ${width}`);
    };
    await measure('sign-in');
    await signIn(fixture.payments.hub.token);
    for (const hash of await views()) {
      await goTo(hash);
      await measure(hash);
    }
    await goTo('#/licenses');
    await page.getByRole('button', { name: 'Issue license' }).click();
    await page.getByRole('dialog').getByText('More terms').click();
    await measure('a form');
    await page.keyboard.press('Escape');
    await goTo('#/endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByRole('dialog').waitFor();
    await measure('the form of an endpoint');
    await page.keyboard.press('Escape');
    await goTo('#/offers');
    await page.getByRole('button', { name: 'New offer' }).click();
    await page.getByRole('dialog').waitFor();
    await measure('the form of an offer');
    await page.keyboard.press('Escape');
    const menu = page.getByRole('button', { name: 'Menu' });
    const licenses = page.getByRole('link', { name: 'Licenses', exact: true });
    expect(await licenses.isVisible()).to.equal(false);
    await menu.click();
    await measure('menu');
    await licenses.click();
    await page.getByRole('heading', { name: 'Licenses' }).waitFor();
    expect(await licenses.isVisible()).to.equal(false);
    await close();
    expect(tooWide.join('\n')).to.equal('');
  });

  it('supports the keyboard with a visible focus', async () => {
    const { page, signIn, goTo, close } = await open();
    await signIn(fixture.payments.hub.token);
    const focused = () =>
      page.evaluate<string>(
        `document.activeElement?.textContent || document.activeElement?.getAttribute('aria-label')`,
      );
    await goTo('#/sessions');
    await page.reload();
    await signIn(fixture.payments.hub.token);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    await page.evaluate('document.activeElement?.blur()');
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Skip to the content');
    expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).to.equal('solid');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement?.id')).to.equal('main');
    await page.keyboard.press('/');
    expect(await focused()).to.contain('Go to an id');
    await page.keyboard.type(fixture.sessions.paid.sessionId);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Session', exact: true }).waitFor();
    await close();
  });

  it('moves the focus to the heading of a new page as soon as it is there', async () => {
    const { page, signIn, close } = await open();
    await signIn(fixture.payments.hub.token);
    const hasFocus = await page.evaluate<unknown>(`new Promise((resolve) => {
      const look = () => {
        const heading = document.querySelector('h1');
        if (heading?.textContent === 'Customers') resolve(document.activeElement === heading);
      };
      new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
      location.hash = '#/customers';
      setTimeout(() => resolve(document.querySelector('h1')?.textContent), 20_000);
    })`);
    expect(hasFocus).to.equal(true);
    await close();
  });

  it('lets the keyboard alone fill in a form, and returns to its button', async () => {
    const { page, signIn, goTo, close } = await open();
    await signIn(fixture.payments.hub.token);
    await goTo('#/customers');
    await page.getByRole('button', { name: 'New customer' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create a customer' }).waitFor();
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).to.equal('Name');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('New customer');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Create a customer' }).waitFor();
    await page.keyboard.type('Keyboard & Co');
    await page.keyboard.press('Tab');
    await page.keyboard.type('keys@example.com');
    await page.keyboard.press('Enter');
    // At the same time, since the message disappears after seconds.
    await Promise.all([
      page.getByRole('heading', { name: 'Customer', exact: true }).waitFor(),
      page.locator('[aria-live=polite]', { hasText: 'Keyboard & Co is created.' }).waitFor(),
    ]);
    await close();
  });

  it('opens a dialog again before the browser has reported that it was closed', async () => {
    const { page, signIn, goTo, close } = await open();
    await signIn(fixture.payments.hub.token);
    await goTo('#/customers');
    await page.getByRole('button', { name: 'New customer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a customer' });
    await dialog.waitFor();
    // As the Escape key does: the event `close` is a task of its own, after these microtasks.
    await page.evaluate(`(async () => {
      document.querySelector('dialog[open]').requestClose();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      document.activeElement.click();
    })()`);
    await page.keyboard.type('Quick');
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
    expect(await dialog.getByLabel('Name').inputValue()).to.equal('Quick');
    await close();
  });

  it('keeps the chosen theme, and announces changes to screen readers', async () => {
    const { page, signIn, close } = await open();
    await page.emulateMedia({ colorScheme: 'light' });
    await signIn(fixture.payments.hub.token);
    const background = () =>
      page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const light = await background();
    await page.getByLabel('Theme').selectOption('dark');
    const dark = await background();
    expect(dark).not.to.equal(light);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('[aria-live=polite]', { hasText: 'Updates are paused' }).waitFor();
    await page.reload();
    expect(await background()).to.equal(dark);
    await page.evaluate('localStorage.clear()');
    await close();
  });

  it('causes no errors or other requests', () => {
    expect(complaints).to.deep.equal([]);
  });
});
