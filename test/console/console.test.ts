// The console in a real browser, on a hub with real payments behind it.

import { timestampDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { LicenseState } from '../../gen/hub/license/v1/license_pb.ts';
import { UsageLogKind } from '../../gen/hub/payment/v1/payment_pb.ts';
import { listSessionEvents } from '../../lib/presentation/session-timeline.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  journal,
  statusOf,
} from '../support/hub/payment.ts';
import { until } from '../support/until.ts';
import { type Fixture, startFixture } from './fixture.ts';
import { type Complaints, type Visit, visit } from './visit.ts';

describe('the console in a browser', () => {
  let fixture: Fixture;
  let browser: Browser;
  let here: Visit;
  let page: Page;
  const complaints: Complaints = [];
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    const size = { width: 1280, height: 900 };
    [fixture, browser] = await Promise.all([
      startFixture(),
      openBrowser({ viewport: size, locale: 'en-GB', timezoneId: 'Asia/Dhaka' }),
    ]);
  });
  after(async () => {
    await browser?.close();
    await fixture?.stop();
  });
  afterEach(() => here?.close());

  const open = async (hash = '', token?: string): Promise<void> => {
    here = await visit(browser.context, fixture.payments.hub.rpcUrl, complaints, hash);
    page = here.page;
    if (token !== undefined) await here.signIn(token);
  };
  const main = (): Locator => page.getByRole('main');
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  /** The texts of the rows of a table, without its head. They may come a moment after it. */
  const rows = async (name: string): Promise<string[]> => {
    const all = page.getByRole('table', { name, exact: true }).locator('tbody tr');
    await all
      .first()
      .waitFor({ timeout: 5_000 })
      .catch(() => {}); // it is empty
    return all.allInnerTexts();
  };
  const heading = async (): Promise<string> => page.getByRole('heading', { level: 1 }).innerText();

  describe('signing in', () => {
    it('reports a wrong token', async () => {
      await open();
      expect(await heading()).to.equal('Sign in');
      expect(await button('Sign in').isDisabled()).to.equal(true);
      await page.getByLabel('Token').fill('hub_wrong');
      await page.keyboard.press('Enter');
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.innerText()).to.equal(
        'The hub does not accept this token. It may be mistyped, expired or revoked.',
      );
      await here.signIn(fixture.tokens.viewer);
      expect(await heading()).to.equal('Overview');
    });

    it('keeps the token in memory only, so that a reload drops it', async () => {
      await open('', fixture.tokens.viewer);
      await here.goTo('#/sessions');
      const kept = `JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML])`;
      expect(await page.evaluate(kept)).not.to.contain(fixture.tokens.viewer);
      expect(await browser.context.cookies()).to.deep.equal([]);
      await page.reload();
      expect(await heading()).to.equal('Sign in');
    });

    it('keeps the token for the tab on request, until sign-out', async () => {
      await open('#/licenses');
      await page.getByLabel('Keep me signed in').check();
      await here.signIn(fixture.tokens.viewer);
      await page.reload();
      await page.getByRole('heading', { name: 'Licenses' }).waitFor();
      expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.to.contain('hub_');
      await button('Sign out').click();
      expect(await heading()).to.equal('Sign in');
      expect(await page.evaluate('sessionStorage.length')).to.equal(0);
    });

    it('keeps the token when the hub cannot answer after a reload, says why, and signs in later', async () => {
      await open('#/licenses');
      await page.getByLabel('Keep me signed in').check();
      await here.signIn(fixture.tokens.viewer);
      await page.route('**/GetCaller', (route) => route.fulfill({ status: 503 }));
      await page.reload();
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.innerText())
        .to.contain('The hub cannot do this now')
        .and.contain('Ask again');
      expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).to.contain(fixture.tokens.viewer);
      await page.unroute('**/GetCaller');
      // The pause before the next attempt grows to a minute.
      await page.getByRole('heading', { name: 'Licenses' }).waitFor({ timeout: 90_000 });
    });

    it('drops the kept token after a reload with the reason, if it was revoked', async () => {
      const tokens = createClient(TokenService, fixture.payments.hub.transport);
      const { token, serviceToken } = await tokens.createToken({ name: 'brief', role: Role.VIEWER });
      await open('#/licenses');
      await page.getByLabel('Keep me signed in').check();
      await here.signIn(token);
      await here.goTo('#/nothing'); // a view that does not call the hub
      await tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
      await page.reload();
      await page.getByLabel('Token').waitFor();
      expect(await page.getByRole('alert').innerText()).to.contain('no longer accepts this token');
      expect(await page.evaluate('sessionStorage.length')).to.equal(0);
    });

    it('ends with the reason when the token is revoked', async () => {
      const tokens = createClient(TokenService, fixture.payments.hub.transport);
      const { token, serviceToken } = await tokens.createToken({ name: 'brief', role: 4 });
      await open('#/slots', token);
      await tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
      await here.goTo('#/sessions').catch(() => {}); // it may be back at the sign-in already
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await page.getByRole('alert').innerText()).to.contain('no longer accepts this token');
    });

    it('offers only actions that the role allows', async () => {
      const views = [
        [`#/sessions/${fixture.sessions.paid.sessionId}`, 'Verify'],
        ['#/callbacks?state=dead', 'Replay'],
        [`#/licenses/${fixture.license.licenseId}`, 'Revoke'],
        [`#/licenses/${fixture.license.licenseId}`, 'Release'],
        ['#/slots', 'Test store'],
      ] as const;
      for (const [token, offered] of [
        [fixture.tokens.operator, true],
        [fixture.tokens.viewer, false],
      ] as const) {
        await open('', token);
        for (const [hash, name] of views) {
          await here.goTo(hash);
          if (name === 'Replay') {
            await main().getByRole('link', { name: /^cb_/ }).first().click();
            await page.getByRole('heading', { level: 1, name: 'Callback', exact: true }).waitFor();
          }
          await main().locator('table, dl').first().waitFor();
          expect((await main().getByRole('button', { name, exact: true }).count()) > 0, name).to.equal(
            offered,
          );
        }
        await here.close();
      }
    });

    it('shows a limited token only its slot', async () => {
      await open('#/sessions', fixture.tokens.ofSlot);
      await page.getByRole('table', { name: 'Charge sessions' }).waitFor();
      const listed = await rows('Charge sessions');
      expect(listed).not.to.deep.equal([]);
      for (const row of listed) expect(row).to.contain('wallet').and.not.to.contain('store');
      const links = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();
      expect(links).to.deep.equal(['Overview', 'Sessions', 'Refunds', 'Usage and fees', 'Events']);
      await here.goTo('#/');
      await main()
        .getByText(/No problems|1 problem needs/)
        .waitFor();
      await here.goTo(`#/sessions/${fixture.sessions.paid.sessionId}`);
      expect(await page.getByRole('alert').innerText()).to.contain('has no such session');
    });
  });

  describe('showing data', () => {
    it('lists problems', async () => {
      await open('', fixture.tokens.viewer);
      const text = await main().innerText();
      expect(text)
        .to.match(/1 problem needs attention|2 problems need attention/)
        .and.to.contain('Callbacks given up after a day of attempts: 1.');
      const states = (await rows('Callbacks that are waiting or failed')).map(
        (row) => /waiting|mismatch|dead/.exec(row)?.[0],
      );
      expect(states.sort()).to.deep.equal(['dead', 'mismatch', 'waiting']);
      await page.getByRole('link', { name: 'See the reasons, and replay them' }).click();
      await page.getByRole('heading', { name: 'Callbacks' }).waitFor();
      expect(page.url()).to.match(/#\/callbacks\?state=dead$/);
    });

    it('filters sessions by status, slot and order, with an address that can be shared', async () => {
      await open('#/sessions', fixture.tokens.viewer);
      const shown = async (): Promise<number> => (await rows('Charge sessions')).length;
      const all = await shown();
      await page.getByLabel('Status').selectOption('cancelled');
      await until(async () => (await shown()) === 2, 'the list is shorter');
      // Text of others is text.
      expect((await rows('Charge sessions')).join()).to.contain('<b>ORD</b>-1901');
      expect(page.url()).to.match(/#\/sessions\?status=cancelled$/);
      await page.goBack();
      await until(async () => (await shown()) === all, 'the way back leads to the whole list');
      await page.getByLabel('Go to an id').fill('ORD-2002');
      await page.keyboard.press('Enter');
      await until(async () => (await shown()) === 1, 'the order is found');
      await page.locator(`a[title=${fixture.sessions.waiting.sessionId}]`).click();
      await page.getByRole('heading', { name: 'Session', exact: true }).waitFor();
      // It comes with the next frame.
      const focused = (): Promise<unknown> => page.evaluate('document.activeElement?.tagName');
      await until(async () => (await focused()) === 'H1', 'the heading has the focus');
    });

    it('shows sessions page by page', async () => {
      await open('#/audit', fixture.tokens.viewer);
      const first = await rows('Changes');
      expect(first).to.have.length(50);
      await page.getByRole('link', { name: 'Older →' }).click();
      await until(async () => (await rows('Changes'))[0] !== first[0], 'the next page is shown');
      await page.getByRole('link', { name: '← Newest' }).click();
      await until(async () => (await rows('Changes'))[0] === first[0], 'the first page is shown again');
    });

    it('shows the history of a session, like hubctl', async () => {
      const { reversed } = fixture.sessions;
      await open(`#/sessions/${reversed.sessionId}`, fixture.tokens.viewer);
      const told = await page.locator('.timeline li .event strong').allInnerTexts();
      const history = listSessionEvents(await inspect(fixture.payments, reversed));
      expect(told).to.deep.equal(history.map(({ what }) => what));
      expect(told).to.include.members(['created', 'success', 'usage log', 'fee', 'reversed']);
      const times = await page
        .locator('.timeline time')
        .evaluateAll((all) => all.map((each) => each.getAttribute('datetime')));
      expect(times).to.deep.equal(history.map(({ at }) => at && timestampDate(at).toISOString()));
      expect(await main().getByText('the provider says REVERSED').count()).to.be.above(0);
    });

    it('links a session to its events, and an event to its callback', async () => {
      const { paid } = fixture.sessions;
      await open(`#/sessions/${paid.sessionId}`, fixture.tokens.viewer);
      await page.getByRole('link', { name: 'Events', exact: true }).last().click();
      await page.getByRole('heading', { name: 'Events' }).waitFor();
      await until(async () => (await rows('Events')).length === 1, 'only its event is shown');
      expect((await rows('Events'))[0])
        .to.contain('session.succeeded')
        .and.to.contain(paid.slot);
      await here.goTo('#/events?type=callback.dead');
      await main().getByRole('link', { name: 'callback.dead' }).click();
      await page.getByRole('heading', { name: 'Event', exact: true }).waitFor();
      await main().getByText('No endpoint receives this event.').waitFor();
      await main().getByRole('link', { name: /^cb_/ }).click();
      await page.getByRole('heading', { name: 'Callback', exact: true }).waitFor();
    });

    it('counts the callbacks of a session, and shows all page by page', async () => {
      const session = await createSession(fixture.payments, 'gateway_one');
      const fields = { ...callbackFields(session, 'paid'), status: 'UNATTEMPTED' };
      for (let number = 0; number < 130; number++) {
        await callBack(fixture.payments.hub.gatewayUrl, 'gateway_one', fields);
      }
      await open(`#/sessions/${session.sessionId}`, fixture.tokens.viewer);
      await page.getByText('ignored: 130 (30 only counted)').waitFor();
      const told = page.locator('.timeline li .event strong');
      await told
        .filter({ hasText: /^callback$/ })
        .nth(49)
        .waitFor();
      expect(await told.filter({ hasText: /^callback$/ }).count()).to.equal(50);
      await page.getByRole('link', { name: 'List all callbacks in the journal' }).click();
      await page.getByRole('table', { name: 'Callbacks' }).waitFor();
      const first = await rows('Callbacks');
      expect(first).to.have.length(50);
      await page.getByRole('link', { name: 'Older →' }).click();
      await until(async () => (await rows('Callbacks'))[0] !== first[0], 'the next page is shown');
      expect(await rows('Callbacks')).to.have.length(50);
      expect(await page.getByRole('link', { name: 'Older →' }).count()).to.equal(0);
      await page.getByRole('link', { name: '← Newest' }).click();
      await until(async () => (await rows('Callbacks'))[0] === first[0], 'the first page is shown again');
    });

    it('shows times in the zone of the browser, or in UTC', async () => {
      const { paid } = fixture.sessions;
      const created = timestampDate(
        paid.createdAt ?? { seconds: 0n, nanos: 0, $typeName: 'google.protobuf.Timestamp' },
      );
      await open(`#/sessions/${paid.sessionId}`, fixture.tokens.viewer);
      const shown = main().locator('dl time').first();
      const inDhaka = new Date(created.getTime() + 6 * 3_600_000).toISOString().slice(11, 19);
      expect(await shown.innerText()).to.contain(inDhaka);
      expect(await shown.getAttribute('title'))
        .to.match(/UTC$/)
        .and.to.contain(created.toISOString().slice(11, 23));
      await page.getByLabel('Times').selectOption('UTC');
      expect(await shown.innerText()).to.contain(created.toISOString().slice(11, 19));
    });

    it('shows the fields of a callback and the requests that it caused', async () => {
      const [callback] = await journal(fixture.payments, fixture.sessions.waiting);
      await open(`#/callbacks/${callback?.callbackId}`, fixture.tokens.viewer);
      const fields = await rows('Fields of the callback');
      expect(fields).to.have.length(Object.keys(callback?.fields ?? {}).length);
      expect(fields.join('\n')).to.contain(fixture.sessions.waiting.merchantTransactionId);
      expect((await rows('Requests to the provider'))[0]).to.contain('unavailable');
    });

    it('shows usage and fees exactly, as charts and as a table', async () => {
      await open('#/usage', fixture.tokens.viewer);
      const sums = await fixture.payments.admin.listUsageLogs({ pageSize: 1000 });
      for (const currency of ['BDT', 'JPY']) {
        // Reversals are entries of their own, and negative.
        const logs = sums.usageLogs.filter(
          ({ amount, kind }) => amount?.currency === currency && kind !== UsageLogKind.REVERSAL,
        );
        const paid = logs.reduce((sum, { amount }) => sum + (amount?.minorUnits ?? 0n), 0n);
        const text = await page.getByRole('region', { name: currency, exact: true }).innerText();
        const shown = /Paid\n([\d,.]+) /.exec(text)?.[1]?.replace(/[,.]/g, '');
        expect(shown, currency).to.equal(String(paid));
        expect(text).to.contain(`Payments\n${logs.length}`);
      }
      expect(await page.locator('canvas').count()).to.equal(4);
      const drawn = `[...document.querySelectorAll('canvas')].every((each) => new Set(each.getContext('2d').getImageData(0, 0, each.width, each.height).data).size > 4)`;
      expect(await page.evaluate(drawn)).to.equal(true);
      await page.getByText('Show as a table').first().click();
      expect(await rows('Payments in BDT by day (UTC)')).to.have.length(10);
      expect(await rows('Fee rules')).to.have.length(2);
      await page.getByLabel('Slot').selectOption('wallet');
      await page.getByRole('region', { name: 'JPY', exact: true }).waitFor({ state: 'detached' });
    });

    it('shows licenses and seats, and puts only the end of a key into the address', async () => {
      const { licenseKey, keyHint, licenseId } = fixture.license;
      await open('#/licenses', fixture.tokens.viewer);
      expect(await rows('Licenses')).to.have.length(7);
      await page.getByLabel('Search').fill(licenseKey);
      await until(async () => (await rows('Licenses')).length === 1, 'the license is found');
      expect(page.url()).to.match(new RegExp(`search=${keyHint}$`));
      await page.locator(`a[title=${licenseId}]`).click();
      await page.getByRole('table', { name: 'Seats' }).waitFor();
      expect(await rows('Seats')).to.have.length(2);
      await page.getByRole('link', { name: 'Show released seats too' }).click();
      await until(async () => (await rows('Seats')).length === 3, 'the released seat is shown');
    });

    it('shows apps with keys, slots and the audit log', async () => {
      await open('#/apps', fixture.tokens.operator);
      expect((await rows('Signing keys of demo'))[0]).to.contain('active');
      expect(await rows('Limit profiles of demo')).to.have.length(2);
      await here.goTo('#/slots');
      expect(await rows('Payment slots')).to.have.length(2);
      await button('Test store').click();
      await page.getByText('store: answers').waitFor();
      await here.goTo('#/audit?action=license.revoke');
      await until(async () => (await rows('Changes')).length === 1, 'the revocation is found');
      await main().getByText('state, reason').click();
      expect(await main().locator('pre').last().innerText()).to.contain('"reason": "Refunded"');
    });

    it('shows the health of the hub and its requests, refreshed', async () => {
      await open('#/health', fixture.tokens.viewer);
      await page.getByRole('table', { name: 'Health of the hub' }).waitFor();
      const found = await rows('Health of the hub');
      expect(found).to.have.length(18);
      // The hub under test shares the process of mocha, whose memory grows from file to file.
      for (const row of found) expect(row).to.match(/\tok\t|\ta process holds \d+ MB/);
      // The page's own calls appear in its second refresh.
      const request = page.getByRole('table', { name: 'Requests' }).getByText('MetricsService/ReadMetrics');
      await request.waitFor();
      expect((await rows('Requests')).join()).to.match(/ReadMetrics\t[\d.]+\t0\t[\d.]+ ms\t[\d.]+ ms/);
      expect(await main().getByRole('term').allInnerTexts()).to.include.members(['Seats in use', 'Memory']);
    });

    it('shows an error for an unknown address', async () => {
      await open('', fixture.tokens.viewer);
      for (const hash of ['nothing', 'sessions/a/b', '%', 'slots/store', '__proto__', 'constructor']) {
        await here.goTo(`#/${hash}`);
        expect(await heading(), hash).to.equal('No such page');
      }
      await here.goTo('#/sessions/chs_none');
      expect(await page.getByRole('alert').innerText()).to.contain(
        'There is no charge session with this id.',
      );
    });
  });

  describe('refreshing', () => {
    it('can be paused', async () => {
      await open('#/sessions', fixture.tokens.viewer);
      await button('Pause').click();
      const before = (await rows('Charge sessions')).length;
      await createSession(fixture.payments, 'gateway_two');
      await button('Resume').click();
      await until(
        async () => (await rows('Charge sessions')).length === before + 1,
        'the new session is there',
      );
    });

    it('reports an unreachable hub, and keeps the data until it is back', async () => {
      await open('#/slots', fixture.tokens.viewer);
      await page.route('**/hub.*/**', (route) => route.abort());
      await button('Pause').click();
      await button('Resume').click();
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.innerText())
        .to.contain('The hub cannot be reached')
        .and.to.contain('The data is older');
      expect(await rows('Payment slots')).to.have.length(2);
      await page.unroute('**/hub.*/**');
      await button('Ask again').click();
      await alert.waitFor({ state: 'detached' });
    });
  });

  describe('changing data', () => {
    it('finds a license by its typed key, revokes it with a reason, and reinstates it', async () => {
      const { licenseId, keyHint } = fixture.license;
      const state = async () => (await fixture.payments.hub.admin.getLicense({ licenseId })).license?.state;
      await open(`#/licenses/${licenseId}`, fixture.tokens.operator);
      await button('Revoke').click();
      const dialog = page.getByRole('dialog', { name: 'Revoke this license?' });
      const confirm = dialog.getByRole('button', { name: 'Revoke' });
      await dialog.getByLabel('Reason').fill('Refunded');
      await dialog.getByLabel(`Type ${keyHint} to confirm`).fill('XXXXX');
      expect(await confirm.isDisabled()).to.equal(true);
      await dialog.getByLabel(`Type ${keyHint} to confirm`).fill(keyHint.toLowerCase());
      await confirm.click();
      await page.getByText(`The license …${keyHint} is revoked.`).waitFor();
      expect(await state()).to.equal(LicenseState.REVOKED);
      expect(await main().innerText())
        .to.contain('revoked')
        .and.to.contain('Refunded');
      await button('Reinstate').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Reinstate' }).click();
      await page.getByText(`The license …${keyHint} is valid again.`).waitFor();
      expect(await state()).to.equal(LicenseState.ACTIVE);
    });

    it('releases a seat', async () => {
      const { licenseId } = fixture.license;
      await open(`#/licenses/${licenseId}`, fixture.tokens.operator);
      await page.getByRole('row', { name: /Study/ }).getByRole('button', { name: 'Release' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
      await page.getByText('The seat is released.').waitFor();
      const { seats } = await fixture.payments.hub.admin.listSeats({ licenseId });
      expect(seats.map(({ machineLabel }) => machineLabel)).to.deep.equal(['Ada’s laptop']);
    });

    it('changes nothing when the dialog is cancelled', async () => {
      await open(`#/licenses/${fixture.license.licenseId}`, fixture.tokens.operator);
      await button('Revoke').focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const focused = (): Promise<unknown> => page.evaluate('document.activeElement?.textContent');
      await until(async () => (await focused()) === 'Revoke', 'the button has the focus again');
    });

    it('shows why a change was refused, and keeps the dialog open', async () => {
      await open(`#/licenses/${fixture.license.licenseId}`, fixture.tokens.operator);
      await button('Revoke').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('\u202eright to left');
      await dialog.getByLabel(/^Type/).fill(fixture.license.keyHint);
      await dialog.getByRole('button', { name: 'Revoke' }).click();
      const reason = dialog.getByLabel('Reason');
      await dialog.getByText('Must not contain control characters').waitFor();
      expect(await reason.getAttribute('aria-invalid')).to.equal('true');
      expect(await page.evaluate('document.activeElement.labels[0].textContent')).to.contain('Reason');
    });

    it('replays a dead callback when the provider answers, and verifies a session', async () => {
      const { dead, waiting } = fixture.sessions;
      await open('#/callbacks?state=dead', fixture.tokens.operator);
      await main().getByRole('link', { name: /^cb_/ }).click();
      await page.getByRole('heading', { name: 'Callback', exact: true }).waitFor();
      fixture.mend();
      await button('Replay').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
      await page.getByText('Replayed: the callback is settled.').waitFor();
      expect(await statusOf(fixture.payments, dead)).to.equal('success');
      await main().getByText('settled', { exact: true }).first().waitFor();

      await here.goTo(`#/sessions/${waiting.sessionId}`);
      await button('Verify').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Verify' }).click();
      await page.getByText('The session is success.').waitFor();
      expect(await statusOf(fixture.payments, waiting)).to.equal('success');
    });
  });

  describe('after all tests', () => {
    it('has caused no errors, no policy violations, no external requests, and no token in an address', () => {
      expect(complaints).to.deep.equal([]);
    });
  });
});
