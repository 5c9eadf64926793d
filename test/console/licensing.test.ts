// Licenses and customers in the console: finding, issuing and changing them in a real browser on a real hub.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { Locator, Page, Request } from 'playwright-core';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { type License, LicenseState } from '../../gen/hub/license/v1/license_pb.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { activate } from '../support/network/rest.ts';
import { until } from '../support/until.ts';
import { createControls, createRoleTokens, type RoleTokens } from './controls.ts';
import { type Complaints, type Visit, visit } from './visit.ts';

const APP = 'photo-lab';

describe('licenses and customers in the console', () => {
  let hub: TestHub;
  let browser: Browser;
  let customers: Client<typeof CustomerService>;
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
    [hub, browser] = await Promise.all([
      startHub(),
      openBrowser({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' }),
    ]);
    customers = createClient(CustomerService, hub.transport);
    await hub.admin.createApp({ slug: APP });
    await hub.admin.setLimitProfile({ app: APP, name: 'pro', limits: { projects: 10n } });
    tokens = await createRoleTokens(hub, APP);
  });
  after(async () => {
    await browser?.close();
    await hub?.stop();
  });
  afterEach(() => here?.close());

  const open = async (hash: string, token = tokens.operator): Promise<void> => {
    here = await visit(browser.context, hub.rpcUrl, complaints, hash);
    page = here.page;
    await here.signIn(token);
  };
  const issue = (request: Parameters<typeof issueLicense>[1] = {}): Promise<TestLicense> =>
    issueLicense(hub.admin, { app: APP, ...request });
  const read = async ({ licenseId }: { licenseId: string }): Promise<License> => {
    const { license } = await hub.admin.getLicense({ licenseId });
    if (license === undefined) throw new Error('the hub returned no license');
    return license;
  };
  const newCustomer = async (name: string, about: { email?: string; externalRef?: string } = {}) =>
    (await customers.createCustomer({ name, ...about })).customer?.customerId ?? '';

  const pick = (name: RegExp): Locator => dialog().getByRole('radio', { name });
  /** Searches for another customer, whom only one row matches, and waits for the answer. */
  const searchElsewhere = async (text: string): Promise<void> => {
    await field('Find a customer').fill('nobody at all');
    await dialog().getByText('No customer matches.').waitFor();
    await field('Find a customer').fill(text);
    await dialog().getByText('Matches: 1.').waitFor();
  };

  describe('finding a license', () => {
    let wanted: TestLicense;
    const asTyped = (key: string): string =>
      key.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('-', '–');
    const rows = (): Locator => main().getByRole('table', { name: 'Licenses' }).locator('tbody tr');
    const onlyWanted = async (): Promise<void> => {
      const isFound = async () =>
        (await rows().count()) === 1 && (await rows().locator(`a[title=${wanted.licenseId}]`).count()) === 1;
      await until(isFound, 'only the license is listed');
    };
    before(async () => {
      const customerId = await newCustomer('Augusta King', {
        email: 'Augusta@Lovelace.example',
        externalRef: 'crm-4711',
      });
      wanted = await issue({ customerId, metadata: { order: 'ORD-1843', edition: 'studio' } });
      await issue({ customer: 'Charles Babbage', metadata: { order: 'ORD-1822' } });
      await issue();
    });

    it('by anything that is known of it, as one types', async () => {
      await open('#/licenses');
      const search = main().getByLabel('Search');
      for (const text of [
        'augusta k',
        'lovelace.ex',
        'crm-4711',
        'ord-1843',
        wanted.licenseKey.slice(-5).toLowerCase(),
        wanted.licenseKey,
        asTyped(wanted.licenseKey),
        wanted.licenseId,
      ]) {
        await search.fill('nothing like this');
        await main().getByText('No license matches.').waitFor();
        await search.fill('');
        await search.pressSequentially(text, { delay: 15 });
        await onlyWanted();
        await main().getByText('1 license', { exact: true }).waitFor();
        expect(page.url(), text).not.to.contain(wanted.licenseKey.slice(0, 11));
      }
    });

    it('by metadata, state, expiry and use', async () => {
      await open('#/licenses');
      const metadata = main().getByLabel('Metadata');
      await metadata.pressSequentially('edition=studio', { delay: 15 });
      await onlyWanted();
      const choose = (label: string, choice: string) => main().getByLabel(label).selectOption(choice);
      const none = () => main().getByText('No license matches.').waitFor();
      await choose('State', 'suspended');
      await none();
      await hub.admin.suspendLicense({ licenseId: wanted.licenseId, reason: 'A test' });
      await choose('State', 'active');
      await none();
      await choose('State', 'suspended');
      await onlyWanted();
      await hub.admin.resumeLicense({ licenseId: wanted.licenseId });
      await choose('State', 'any');
      await choose('Expires', 'within 30 days');
      await none();
      const expiresAt = timestampFromDate(new Date(Date.now() + 20 * 86_400_000));
      await hub.admin.updateLicense({
        licenseId: wanted.licenseId,
        updateMask: { paths: ['expires_at'] },
        expiresAt,
      });
      await choose('Expires', 'within 7 days');
      await none();
      await choose('Expires', 'within 30 days');
      await onlyWanted();
      await choose('Used', 'not for 30 days');
      await onlyWanted();
      await activate(hub.gatewayUrl, wanted.licenseKey, 'm-1');
      await choose('Used', 'in the last 7 days');
      await onlyWanted();
      await choose('Used', 'not for 30 days');
      await none();
    });
  });

  describe('issuing', () => {
    it('says what it will issue, shows the key once, and forgets it when the dialog is closed', async () => {
      await open('#/licenses');
      await begin('Issue license');
      await field('Customer').selectOption('inline');
      await field('Customer’s name').fill('Ada Lovelace');
      await field('Customer’s email').fill('ada@example.com');
      await field('Seats').fill('2');
      await field('Limit profile').selectOption('pro');
      await field('Features').fill('export, sync');
      await field('Expires').selectOption('first');
      await field('Years').fill('1');
      await dialog().getByText('More terms').click();
      await field('Own limits').fill('projects=unlimited\nexports=3');
      await field('Metadata').fill('order=1183');
      await dialog()
        .getByText(
          'Issues 1 license of photo-lab with 2 seats, which is valid for 1 year from its first activation.',
        )
        .waitFor();
      await submit('Issue');
      const licenseKey = await field('License key').inputValue();
      expect((await activate(hub.gatewayUrl, licenseKey, 'm-1')).status).to.equal(200);
      const id = await dialog().getByRole('link').getAttribute('title');
      const license = await read({ licenseId: id ?? '' });
      expect(license.customer).to.equal('Ada Lovelace');
      expect(license.features).to.deep.equal(['export', 'sync']);
      expect(license.limits).to.deep.equal({ projects: -1n, exports: 3n });
      expect(license.metadata).to.deep.equal({ order: '1183' });
      expect(license.leaseDays).to.equal(30);
      await submit('Close');
      await dialog().waitFor({ state: 'detached' });
      expect(await page.evaluate('document.documentElement.outerHTML')).not.to.contain(licenseKey);
    });

    it('shows each refusal beside its field, and focuses the first', async () => {
      await open('#/licenses');
      await begin('Issue license');
      await field('Seats').fill('many');
      await submit('Issue');
      await dialog().getByText('Enter a whole number.').waitFor();
      expect(await field('Seats').getAttribute('aria-invalid')).to.equal('true');
      await field('Seats').fill('');
      await dialog().getByText('More terms').click();
      await field('Metadata').fill('9=nine');
      await field('Grace in days').fill('4000');
      await dialog().getByText('More terms').click();
      await submit('Issue');
      await dialog().getByText('“9” must be a letter').waitFor();
      expect(await field('Grace in days').getAttribute('aria-invalid')).to.equal('true');
      expect(await field('Grace in days').evaluate((it) => it.matches(':focus'))).to.equal(true);
      const described = await field('Metadata').getAttribute('aria-describedby');
      expect(described).to.match(/-error .*-hint$/);
    });

    it('keeps the chosen customer in the list during another search', async () => {
      const chosen = await newCustomer('Caroline Herschel');
      await newCustomer('Wang Zhenyi');
      await open('#/licenses');
      await begin('Issue license');
      await field('Customer').selectOption('existing');
      await field('Find a customer').fill('caroline h');
      await pick(/Caroline/).check();
      await searchElsewhere('wang z');
      expect(await pick(/Caroline/).isChecked()).to.equal(true);
      // The form also keeps the choice when the fields of the customer change.
      await field('Customer').selectOption('none');
      await field('Customer').selectOption('existing');
      await searchElsewhere('wang z');
      expect(await pick(/Caroline/).isChecked()).to.equal(true);
      await submit('Issue');
      await field('License key').waitFor();
      const { licenses } = await hub.admin.listLicenses({ customer: 'Caroline Herschel' });
      expect(licenses.map(({ customerId }) => customerId)).to.deep.equal([chosen]);
    });

    it('repeats a request whose response was lost without issuing twice', async () => {
      await open('#/licenses');
      await begin('Issue license');
      await field('Number of licenses').fill('3');
      let calls = 0;
      await page.route('**/IssueLicenses', async (route) => {
        calls += 1;
        const response = await route.fetch();
        await (calls === 1 ? route.abort() : route.fulfill({ response }));
      });
      const count = async () => (await hub.admin.listLicenses({ pageSize: 1000 })).licenses.length;
      const before = await count();
      await submit('Issue');
      await dialog().getByRole('alert').waitFor();
      await submit('Issue');
      expect((await field('License keys').inputValue()).split('\n')).to.have.length(3);
      expect(await count()).to.equal(before + 3);
    });
  });

  describe('changing a license', () => {
    it('edits terms, and lists the changes before', async () => {
      const license = await issue({ limitProfile: 'pro', metadata: { order: '7' } });
      await open(`#/licenses/${license.licenseId}`);
      await begin('Edit');
      await dialog().getByText('Nothing is changed yet.').waitFor();
      expect(await dialog().getByRole('button', { name: 'Change' }).isDisabled()).to.equal(true);
      await field('Seats').fill('unlimited');
      await field('Limit profile').selectOption('');
      await field('Expires (UTC)').fill('2031-01-31T12:00:00');
      await field('Metadata').fill('order=7\nseller=Turin');
      await dialog().getByText('Seats: 3 → unlimited').waitFor();
      await dialog().getByText('Expires: never → 2031-01-31 12:00').waitFor();
      await submit('Change');
      await said('are changed');
      const now = await read(license);
      expect(now.seats?.limit).to.equal(-1);
      expect(now.limitProfile).to.equal(undefined);
      expect(now.metadata).to.deep.equal({ order: '7', seller: 'Turin' });
      expect(now.expiresAt && timestampDate(now.expiresAt).toISOString()).to.equal(
        '2031-01-31T12:00:00.000Z',
      );
      expect(now.termsVersion).to.equal(2);
    });

    it('says that someone else changed it, loads the current terms, and keeps what was typed', async () => {
      const license = await issue({ limitProfile: 'pro', features: ['sync'], metadata: { order: '8' } });
      await open(`#/licenses/${license.licenseId}`);
      await begin('Edit');
      await field('Features').fill('export');
      await hub.admin.updateLicense({
        licenseId: license.licenseId,
        updateMask: { paths: ['seat_limit'] },
        seatLimit: 9,
      });
      await submit('Change');
      const alert = dialog().getByRole('alert');
      await alert.waitFor();
      expect(await alert.innerText()).to.contain('Someone else changed this');
      await submit('Load the current values');
      await alert.waitFor({ state: 'detached' });
      expect(await field('Seats').inputValue()).to.equal('9');
      expect(await field('Features').inputValue()).to.equal('export');
      await submit('Change');
      await said('are changed');
      const now = await read(license);
      expect([now.seats?.limit, now.features, now.limitProfile]).to.deep.equal([9, ['export'], 'pro']);
    });

    it('renews by a year, and shows the new expiry before', async () => {
      const expiry = new Date(Date.UTC(new Date().getUTCFullYear() + 1, 1, 10, 8));
      const license = await issue({ expiresAt: timestampFromDate(expiry) });
      await open(`#/licenses/${license.licenseId}`);
      await begin('Renew');
      await dialog()
        .getByText(`10 Feb ${expiry.getUTCFullYear() + 1}`)
        .waitFor();
      await field('Renew').selectOption('period');
      await submit('Renew');
      await dialog().getByText('Enter at least one year, month or day.').waitFor();
      await field('Renew').selectOption('year');
      await submit('Renew');
      await said('is renewed');
      const renewed = (await read(license)).expiresAt;
      expect(renewed && timestampDate(renewed).getUTCFullYear()).to.equal(expiry.getUTCFullYear() + 1);
    });

    it('shows a change, even if the answer to an earlier poll arrives later', async () => {
      const license = await issue();
      await open(`#/licenses/${license.licenseId}`);
      await main().locator('.badge', { hasText: 'active' }).waitFor();
      const [fetched, held, answered] = [0, 0, 0].map(() => Promise.withResolvers<void>());
      let calls = 0;
      await page.route('**/GetLicense', async (route) => {
        const isFirst = ++calls === 1;
        const response = await route.fetch();
        if (isFirst) fetched?.resolve();
        if (isFirst) await held?.promise;
        // The console has given up the first poll.
        await route.fulfill({ response }).catch(() => {});
        if (isFirst) answered?.resolve();
      });
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      await fetched?.promise;
      await begin('Suspend');
      await field('Reason (stored in the audit log)').fill('A test');
      await submit('Suspend');
      await said('is suspended');
      const badge = main().locator('.badge', { hasText: 'suspended' });
      await badge.waitFor();
      held?.resolve();
      await answered?.promise;
      await page.evaluate(`new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))`);
      expect(await badge.count()).to.equal(1);
    });

    it('suspends with a reason and resumes', async () => {
      const license = await issue();
      await open(`#/licenses/${license.licenseId}`);
      await begin('Suspend');
      await dialog().getByText('after 30 days at most').waitFor();
      await field('Reason (stored in the audit log)').fill('Invoice 12 is open');
      await submit('Suspend');
      await said('is suspended');
      await main().locator('.badge', { hasText: 'suspended' }).waitFor();
      await main().getByText('Invoice 12 is open').waitFor();
      expect((await read(license)).state).to.equal(LicenseState.SUSPENDED);
      await begin('Resume');
      await submit('Resume');
      await said('is resumed');
      await main().locator('.badge', { hasText: 'active' }).waitFor();
      expect((await read(license)).state).to.equal(LicenseState.ACTIVE);
    });

    it('names the state of a license in its grace', async () => {
      const license = await issue({
        expiresAt: timestampFromDate(new Date(Date.now() + 3_000)),
        graceDays: 7,
      });
      await until(async () => (await read(license)).state === LicenseState.GRACE, 'the license has expired');
      await open(`#/licenses/${license.licenseId}`);
      await main().locator('.badge', { hasText: 'grace' }).waitFor();
      await main().getByText('Grace ends').waitFor();
    });

    it('replaces the key, shows the new one, and keeps the machines', async () => {
      const license = await issue();
      await activate(hub.gatewayUrl, license.licenseKey, 'm-1');
      await open(`#/licenses/${license.licenseId}`);
      await begin('Re-key');
      await dialog().getByText('1 machine keeps its seat').waitFor();
      await dialog().getByLabel(/^Type/).fill(license.licenseKey.slice(-5));
      await submit('Re-key');
      const licenseKey = await field('License key').inputValue();
      expect(licenseKey).not.to.equal(license.licenseKey);
      expect((await activate(hub.gatewayUrl, license.licenseKey, 'm-2')).status).to.equal(404);
      expect((await activate(hub.gatewayUrl, licenseKey, 'm-2')).status).to.equal(200);
      expect((await read(license)).seats?.used).to.equal(2);
    });

    it('shows the key, and says that the audit log records it', async () => {
      const license = await issue();
      await open(`#/licenses/${license.licenseId}`);
      await begin('Show key');
      await dialog().getByText('The audit log records that you saw the key.').waitFor();
      await submit('Show key');
      expect(await field('License key').inputValue()).to.equal(license.licenseKey);
      const audit = createClient(AuditService, hub.transport);
      const { entries } = await audit.listAuditEntries({ subject: license.licenseId });
      expect(entries[0]?.actor).to.contain('desk');
      await page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'detached' });
      expect(await page.evaluate('document.documentElement.outerHTML')).not.to.contain(license.licenseKey);
    });

    it('transfers a license to a customer that it finds as one types', async () => {
      const target = await newCustomer('Difference & Sons', { email: 'office@difference.example' });
      await newCustomer('Menabrea, Torino');
      const license = await issue({ customer: 'Charles' });
      await open(`#/licenses/${license.licenseId}`);
      await begin('Transfer');
      await submit('Transfer');
      await dialog().getByText('Choose the new customer.').waitFor();
      await field('Find a customer').fill('difference.ex');
      await dialog().getByText('Matches: 1.').waitFor();
      await dialog()
        .getByRole('radio', { name: /Difference & Sons/ })
        .check();
      await dialog().getByText('moves from Charles').waitFor();
      await submit('Transfer');
      await said('belongs to Difference & Sons now');
      expect((await read(license)).customerId).to.equal(target);
    });

    it('keeps the chosen customer in the list during another search', async () => {
      const chosen = await newCustomer('Maria Agnesi', { email: 'maria@curve.example' });
      const other = await newCustomer('Laura Bassi');
      const license = await issue({ customer: 'Charles' });
      await open(`#/licenses/${license.licenseId}`);
      await begin('Transfer');
      await field('Find a customer').fill('maria ag');
      await pick(/Maria Agnesi/).check();
      await searchElsewhere('laura ba');
      expect(await pick(/Maria Agnesi/).isChecked()).to.equal(true);
      await dialog().getByText('maria@curve.example').waitFor();
      await dialog().getByText('moves from Charles to Maria Agnesi').waitFor();
      await submit('Transfer');
      await said('belongs to Maria Agnesi now');
      expect((await read(license)).customerId).to.equal(chosen);

      await begin('Transfer');
      await field('Find a customer').fill('maria ag');
      await pick(/Maria Agnesi/).check();
      await searchElsewhere('laura ba');
      await pick(/Laura Bassi/).check();
      await until(async () => (await dialog().getByRole('radio').count()) === 1, 'only the choice is listed');
      await dialog().getByText('to Laura Bassi').waitFor();
      await submit('Transfer');
      await said('belongs to Laura Bassi now');
      expect((await read(license)).customerId).to.equal(other);
    });

    it('changes the default terms of an app', async () => {
      await hub.admin.createApp({ slug: 'notes' });
      await open('#/apps');
      const section = page.getByRole('region', { name: /notes/ });
      await section.getByText('New licenses: 1 seat, an offline lease of 30 days, no grace.').waitFor();
      await section.getByRole('button', { name: 'Edit' }).click();
      await field('Seats').fill('5');
      await field('Offline lease in days').fill('0');
      await dialog().getByText('a revocation never reaches').waitFor();
      await submit('Change');
      await section.getByText('New licenses: 5 seats, no offline lease, no grace.').waitFor();
    });
  });

  describe('customers', () => {
    it('creates and edits a customer, with a taken reference beside its field', async () => {
      await newCustomer('Somebody', { externalRef: 'crm-1' });
      await open('#/customers');
      await begin('New customer');
      await field('Name').fill('Mary Somerville');
      await field('Reference').fill('crm-1');
      await submit('Create');
      await until(
        async () => (await field('Reference').getAttribute('aria-invalid')) === 'true',
        'the field is marked',
      );
      await field('Reference').fill('crm-2');
      await field('Metadata').fill('country=uk');
      await submit('Create');
      await page.getByRole('heading', { name: 'Customer', exact: true }).waitFor();
      await main().getByText('crm-2').waitFor();
      await begin('Edit');
      await field('Email').fill('mary@example.com');
      await field('Metadata').fill('');
      await submit('Change');
      await said('Mary Somerville is changed.');
      const { customers: found } = await customers.listCustomers({ email: 'mary@example.com' });
      expect(found[0]?.externalRef).to.equal('crm-2');
      expect(found[0]?.metadata).to.deep.equal({});
    });

    it('finds customers as one types, without an entry in the history for each letter', async () => {
      await newCustomer('Sophie Germain', { email: 'sophie@lines.example', externalRef: 'crm-77' });
      await open('#/');
      await here.goTo('#/customers');
      const search = main().getByLabel('Search');
      const row = main().getByRole('row', { name: /Sophie Germain/ });
      for (const text of ['phie ger', 'LINES.exam', 'crm-77']) {
        await search.fill('nobody at all');
        await main().getByText('No customer matches.').waitFor();
        await search.fill('');
        await search.pressSequentially(text, { delay: 20 });
        await row.waitFor();
        await until(async () => (await main().getByRole('row').count()) === 2, 'only this one matches');
      }
      await page.goBack();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    });

    it('shows the answer to the last search, even if an earlier one arrives later', async () => {
      await newCustomer('Emmy Noether');
      await newCustomer('Emilie du Châtelet');
      await open('#/customers');
      const isFirst = (request: Request): boolean => (request.postData() ?? '').includes('"Emil"');
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let isDone = false;
      await page.route('**/ListCustomers', async (route) => {
        const response = await route.fetch();
        if (isFirst(route.request())) await held;
        // The console has given up the first search.
        await route.fulfill({ response }).catch(() => {});
        isDone ||= isFirst(route.request());
      });
      const search = main().getByLabel('Search');
      const slow = page.waitForRequest(isFirst);
      await search.fill('Emil');
      await slow;
      await search.fill('Noether');
      await main()
        .getByRole('row', { name: /Noether/ })
        .waitFor();
      await until(async () => (await main().getByRole('row').count()) === 2, 'only the last search counts');
      release();
      await until(async () => isDone, 'the first answer has arrived');
      await page.evaluate(`new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))`);
      expect(
        await main()
          .getByRole('row', { name: /Noether/ })
          .count(),
      ).to.equal(1);
      expect(
        await main()
          .getByRole('row', { name: /Châtelet/ })
          .count(),
      ).to.equal(0);
    });

    it('erases a customer after a clear warning, and keeps the licenses', async () => {
      const customerId = await newCustomer('Forget Me', { email: 'forget@example.com' });
      const license = await issue({ customerId });
      await open(`#/customers/${customerId}`, hub.token);
      await begin('Erase');
      await dialog().getByText('This cannot be undone.').waitFor();
      expect(await dialog().getByRole('button', { name: 'Erase' }).isDisabled()).to.equal(true);
      await field('Type ERASE to confirm').fill('erase');
      await submit('Erase');
      await said('The customer is erased.');
      await main().locator('.badge', { hasText: 'erased' }).waitFor();
      expect(await main().innerText()).not.to.contain('Forget Me');
      await main().locator(`a[title=${license.licenseId}]`).click();
      await main().getByRole('link', { name: 'erased customer' }).waitFor();
      expect((await read(license)).state).to.equal(LicenseState.ACTIVE);
    });

    it('issues a license to the customer of the page', async () => {
      const customerId = await newCustomer('Grace Hopper');
      await open(`#/customers/${customerId}`);
      await begin('Issue license');
      await dialog().getByRole('heading', { name: 'Issue a license for Grace Hopper' }).waitFor();
      await submit('Issue');
      await field('License key').waitFor();
      const { licenses } = await hub.admin.listLicenses({ customer: 'Grace Hopper' });
      expect(licenses.map((each) => each.customerId)).to.deep.equal([customerId]);
    });
  });

  describe('what each role may do', () => {
    const offered = async (): Promise<string[]> => main().locator('.page-head button').allInnerTexts();

    it('offers only what the role allows', async () => {
      const customerId = await newCustomer('Katherine');
      const { licenseId } = await issue({
        customerId,
        expiresAt: timestampFromDate(new Date('2040-01-01T00:00:00Z')),
      });
      const pages = [`#/licenses/${licenseId}`, `#/customers/${customerId}`, '#/licenses', '#/customers'];
      const found: Record<string, string[][]> = {};
      for (const [name, token] of Object.entries({ ...tokens, admin: hub.token })) {
        await open('#/apps', token);
        found[name] = [];
        for (const hash of pages) {
          await here.goTo(hash);
          await main().locator('table, dl').first().waitFor();
          found[name].push(await offered());
        }
        await here.close();
      }
      const all = ['Edit', 'Renew', 'Transfer', 'Show key', 'Re-key', 'Suspend', 'Revoke'];
      expect(found).to.deep.equal({
        operator: [all, ['Issue license', 'Edit'], ['Issue license'], ['New customer']],
        viewer: [[], [], [], []],
        ofApp: [['Edit', 'Renew', 'Re-key', 'Suspend'], ['Issue license'], ['Issue license'], []],
        admin: [all, ['Issue license', 'Edit', 'Erase'], ['Issue license'], ['New customer']],
      });
    });
  });

  describe('after all tests', () => {
    it('has caused no errors, no policy violations, no external requests, and no token in an address', () => {
      expect(complaints).to.deep.equal([]);
    });
  });
});
