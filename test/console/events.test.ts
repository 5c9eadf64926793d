// Events and endpoints in the console: a real browser, a real hub, and a real receiver of webhooks.
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { type Delivery, DeliveryState, type Endpoint } from '../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../gen/hub/event/v1/event_service_pb.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { createApp, issueLicense } from '../support/hub/license.ts';
import { activate } from '../support/network/rest.ts';
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../support/network/webhook-receiver.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';
import { createControls, createRoleTokens, type RoleTokens } from './controls.ts';
import { type Complaints, type Visit, visit } from './visit.ts';

describe('events and endpoints in the console', () => {
  let hub: TestHub;
  let browser: Browser;
  let events: Client<typeof EventService>;
  let receiver: WebhookReceiver;
  let app: string;
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
      startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } }),
      openBrowser({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC' }),
    ]);
    events = createClient(EventService, hub.transport);
    app = await createApp(hub.admin);
    tokens = await createRoleTokens(hub, app);
  });
  after(async () => {
    await browser?.close();
    await hub?.stop();
  });
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(async () => {
    await here?.close();
    const { endpoints } = await events.listEndpoints({});
    for (const { endpointId } of endpoints) await events.removeEndpoint({ endpointId });
    await receiver?.close();
  });

  const open = async (hash: string, token = tokens.operator): Promise<void> => {
    here = await visit(browser.context, hub.rpcUrl, complaints, hash);
    page = here.page;
    await here.signIn(token);
  };
  const check = (name: string): Locator => dialog().getByRole('checkbox', { name });
  const rows = (name: string): Locator =>
    main().getByRole('table', { name, exact: true }).locator('tbody tr');
  const badge = (word: string): Promise<void> =>
    main().locator('.page-head .badge', { hasText: word }).waitFor();

  const addEndpoint = async (settings: object = {}): Promise<Endpoint> => {
    const { endpoint } = await events.createEndpoint({
      settings: { url: receiver.url, events: ['*'], ...settings },
    });
    if (endpoint === undefined) throw new Error('the hub returned no endpoint');
    return endpoint;
  };
  const onlyEndpoint = async (): Promise<Endpoint | undefined> =>
    (await events.listEndpoints({})).endpoints[0];
  const untilReceived = (count: number): Promise<void> =>
    until(() => receiver.received.length >= count, `the receiver has ${count} webhooks`);
  /** Waits for the event of a license, and for the attempt to deliver it. */
  const untilTried = async ({ endpointId }: Endpoint): Promise<Delivery> => {
    const found = async () => (await events.listDeliveries({ endpointId })).deliveries[0];
    await until(async () => ((await found())?.attempts ?? 0) > 0, 'the hub has tried to deliver the event');
    const delivery = await found();
    if (delivery === undefined) throw new Error('the delivery is gone');
    return delivery;
  };
  const eventOf = async (object: string, type: string): Promise<string> => {
    let found = '';
    await until(async () => {
      found = (await events.listEvents({ object, types: [type] })).events[0]?.eventId ?? '';
      return found !== '';
    }, `the event ${type} is numbered`);
    return found;
  };
  /** Verifies the only webhook that was received. @throws if the secret did not sign it */
  const verify = (secret: string): ReceivedWebhook => {
    const [webhook] = receiver.received;
    if (webhook === undefined) throw new Error('nothing was received');
    new Webhook(secret).verify(webhook.body, webhook.headers);
    return webhook;
  };

  describe('the list of events', () => {
    it('is filtered by object, type and app, and shows page by page', async () => {
      const other = await createApp(hub.admin);
      const { licenses } = await hub.admin.issueLicenses({ app: other, count: 60 });
      const licenseId = licenses[0]?.license?.licenseId ?? '';
      await hub.admin.suspendLicense({ licenseId, reason: 'A test' });
      await eventOf(licenseId, 'license.suspended');
      await open('#/events', tokens.viewer);
      await main().getByLabel('App').selectOption(other);
      await until(async () => (await rows('Events').count()) === 50, 'a page of events is shown');
      // Until the answer for the app has come, the list shows the events of all apps, and its links do nothing.
      expect(await rows('Events').first().innerText()).to.contain('license.suspended');
      await main().getByRole('link', { name: 'Older →' }).click();
      await until(async () => (await rows('Events').count()) === 11, 'the next page is shown');
      await main().getByLabel('Type').selectOption('license.suspended');
      await until(async () => (await rows('Events').count()) === 1, 'the filter holds for all pages');
      await main().getByLabel('Type').selectOption('license.*');
      await until(async () => (await rows('Events').count()) === 50, 'all types of the kind are shown');
      await main().getByLabel('Object').fill(licenseId);
      await page.waitForResponse(/ListEvents$/); // what is typed outlives the next poll
      await page.keyboard.press('Enter');
      await until(async () => (await rows('Events').count()) === 2, 'the events of the license are shown');
      await main().getByLabel('Type').selectOption('seat.*');
      await main().getByText('No event matches.').waitFor();
      expect(decodeURIComponent(page.url())).to.contain(`app=${other}&type=seat.*&object=${licenseId}`);
    });

    it('is linked from the pages of a license and of its customer', async () => {
      const customers = createClient(CustomerService, hub.transport);
      const { customer } = await customers.createCustomer({ name: 'Ada Lovelace' });
      const customerId = customer?.customerId ?? '';
      const { licenseId } = await issueLicense(hub.admin, { app, customerId });
      for (const [hash, id, type] of [
        [`#/licenses/${licenseId}`, licenseId, 'license.issued'],
        [`#/customers/${customerId}`, customerId, 'customer.created'],
      ] as const) {
        await eventOf(id, type);
        await open(hash, tokens.viewer);
        await main().getByRole('link', { name: 'Events', exact: true }).click();
        await page.getByRole('heading', { name: 'Events' }).waitFor();
        await until(async () => (await rows('Events').count()) === 1, 'only its event is shown');
        await rows('Events').getByRole('link', { name: type }).click();
        await page.getByRole('heading', { name: 'Event', exact: true }).waitFor();
        await main().locator(`dl a[title=${id}]`).click();
        await page.getByRole('heading', { name: /^(License|Customer)$/ }).waitFor();
        expect(page.url()).to.contain(id);
        await here.close();
      }
    });

    it('shows a token of an app only its events, without links to pages that it may not see', async () => {
      const { licenseId } = await issueLicense(hub.admin);
      await eventOf(licenseId, 'license.issued');
      const own = await issueLicense(hub.admin, { app });
      await eventOf(own.licenseId, 'license.issued');
      await open('#/events', tokens.ofApp);
      await rows('Events').first().waitFor();
      for (const row of await rows('Events').allInnerTexts()) expect(row).to.contain(app);
      expect(await rows('Events').getByRole('link', { name: 'license.issued' }).count()).to.equal(0);
      await here.goTo(`#/licenses/${own.licenseId}`);
      await main().getByRole('link', { name: 'Events', exact: true }).click();
      await until(async () => (await rows('Events').count()) === 1, 'its event is shown');
    });
  });

  describe('an event', () => {
    it('shows its object, its data and what the endpoint answered', async () => {
      receiver.answer = (_, response) => {
        response.writeHead(503, { 'retry-after': '3600' }).end('<b>out of ink</b>');
        return undefined;
      };
      const endpoint = await addEndpoint({ events: ['seat.*'] });
      const { licenseId, licenseKey } = await issueLicense(hub.admin, { app });
      await activate(hub.gatewayUrl, licenseKey, 'm-1', { machineLabel: 'Study' });
      const { eventId } = await untilTried(endpoint);
      await open(`#/events/${eventId}`, tokens.viewer);
      await main().getByText('A machine took a seat.').waitFor();
      await main().locator(`dl a[title=${licenseId}]`).waitFor();
      const data = JSON.parse(await main().getByRole('region', { name: 'Data' }).locator('pre').innerText());
      expect(data).to.include({ licenseId, machineLabel: 'Study' });
      const row = await rows('Deliveries').innerText();
      expect(row).to.contain(receiver.url).and.to.contain('pending');
      expect(row).to.match(
        /\t1\t.*\d\d:\d\d:\d\d\t.*\d\d:\d\d:\d\d\t\d+ ms\tthe endpoint answered with status 503/,
      );
      await rows('Deliveries').getByText('Start of the answer').click();
      expect(await rows('Deliveries').locator('pre').innerText()).to.equal('<b>out of ink</b>');
      expect(
        await main()
          .getByRole('button', { name: /Replay/ })
          .count(),
      ).to.equal(0);
    });

    it('is replayed to its endpoint and to another one, after a description of the effect', async () => {
      const first = await addEndpoint({ events: ['license.*'] });
      const second = await addEndpoint({ url: `${receiver.url}/second`, events: ['customer.*'] });
      await issueLicense(hub.admin, { app });
      const { eventId } = await untilTried(first);
      await open(`#/events/${eventId}`);
      await rows('Deliveries').getByRole('button', { name: 'Replay' }).click();
      await dialog()
        .getByText(`posts the event to ${receiver.url} at once, with the same event id`)
        .waitFor();
      expect(receiver.received).to.have.length(1);
      await submit('Replay');
      await said('The hub delivers the event again.');
      await untilReceived(2);
      await begin('Replay to another endpoint');
      await dialog().getByText('its types, apps and slots may not include it').waitFor();
      expect(await field('Endpoint').locator('option').allInnerTexts()).to.deep.equal([second.url]);
      await submit('Replay');
      await until(async () => (await rows('Deliveries').count()) === 2, 'both deliveries are shown');
      await untilReceived(3);
      expect(receiver.received.map(({ path }) => path)).to.deep.equal(['/hook', '/hook', '/hook/second']);
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
      expect(await main().getByRole('button', { name: 'Replay to another endpoint' }).count()).to.equal(0);
    });

    it('is not replayed to an endpoint that is disabled or removed', async () => {
      const endpoint = await addEndpoint({ events: ['license.*'] });
      const { endpointId } = endpoint;
      await issueLicense(hub.admin, { app });
      const { eventId } = await untilTried(endpoint);
      await events.disableEndpoint({ endpointId, reason: 'A test' });
      await open(`#/events/${eventId}`);
      await rows('Deliveries').getByText('disabled').waitFor();
      expect(
        await main()
          .getByRole('button', { name: /Replay/ })
          .count(),
      ).to.equal(0);
      await events.removeEndpoint({ endpointId });
      await rows('Deliveries').getByText('removed').waitFor();
      expect(await rows('Deliveries').getByRole('link').count()).to.equal(0);
    });
  });

  describe('an endpoint', () => {
    it('is added with its events and apps, and shows its secret once', async () => {
      await open('#/endpoints', hub.token);
      await main().getByText('There is no endpoint').waitFor();
      await begin('Add endpoint');
      const add = dialog().getByRole('button', { name: 'Add', exact: true });
      expect(await add.isDisabled()).to.equal(true);
      await field('URL').fill(receiver.url);
      await check('license.issued').check();
      await check('seat.activated').check();
      await check('license.*').check();
      expect(await check('license.issued').isDisabled()).to.equal(true);
      await check(app).check();
      await check('Include license keys').check();
      await field('Description').fill('The shop');
      await dialog()
        .getByText(`The hub posts license.*, seat.activated of app ${app} to ${receiver.url}.`)
        .waitFor();
      await submit('Add');
      await dialog().getByText('The hub does not show it again').waitFor();
      const secret = await field('Secret').inputValue();
      await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await submit('Copy the secret');
      await said('Copied the secret');
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(secret);
      await submit('Close');
      expect(await page.evaluate('document.documentElement.outerHTML')).not.to.contain(secret);
      const endpoint = await onlyEndpoint();
      expect(endpoint).to.deep.include({ events: ['license.*', 'seat.activated'], apps: [app], slots: [] });
      expect(endpoint).to.include({ includeKeys: true, description: 'The shop' });
      const { licenseKey } = await issueLicense(hub.admin, { app });
      await untilReceived(1);
      expect(verify(secret).event.data).to.include({ licenseKey });
      await main().getByText('enabled').waitFor();
      expect(await rows('Endpoints').innerText()).to.contain('license.*, seat.activated');
    });

    it('with a refused URL has the reason beside the field', async () => {
      await open('#/endpoints', hub.token);
      await begin('Add endpoint');
      await field('URL').fill('http://[::1]:1/hook');
      await check('* All events').check();
      await submit('Add');
      await dialog().locator('.field-error').waitFor();
      expect(await dialog().locator('.field-error').innerText()).to.contain('::1');
      expect(await field('URL').evaluate((it) => it.matches(':focus'))).to.equal(true);
      expect(await onlyEndpoint()).to.equal(undefined);
    });

    it('is edited, after a list of the changes', async () => {
      const { endpointId } = await addEndpoint({ events: ['license.*'] });
      await open(`#/endpoints/${endpointId}`, hub.token);
      await begin('Edit');
      await dialog().getByText('Nothing is changed yet.').waitFor();
      await check('license.*').uncheck();
      expect(await dialog().getByRole('button', { name: 'Change' }).isDisabled()).to.equal(true);
      await check('customer.erased').check();
      await field('URL').fill(`${receiver.url}/moved`);
      await dialog().getByText('Events: license.* → customer.erased').waitFor();
      await dialog().getByText('Pending deliveries go to the new URL.').waitFor();
      await submit('Change');
      await said('The endpoint is changed.');
      expect(await onlyEndpoint()).to.deep.include({
        url: `${receiver.url}/moved`,
        events: ['customer.erased'],
      });
      await main().getByText(`${receiver.url}/moved`).waitFor();
    });

    it('is tested: the answer is shown, and nothing is repeated', async () => {
      const { endpointId } = await addEndpoint();
      await open(`#/endpoints/${endpointId}`);
      await begin('Test');
      await dialog().getByText('A failed test is not repeated').waitFor();
      expect(receiver.received).to.have.length(0);
      await submit('Test');
      await dialog().getByRole('heading', { name: 'The test succeeded' }).waitFor();
      await dialog()
        .getByText(/answered with status 204 after \d+ ms/)
        .waitFor();
      await submit('Close');
      receiver.answer = (_, response) => {
        response.writeHead(500).end('no such table');
        return undefined;
      };
      await begin('Test');
      await submit('Test');
      await dialog().getByRole('heading', { name: 'The test failed' }).waitFor();
      expect(await dialog().locator('pre').innerText()).to.equal('no such table');
      await submit('Close');
      await receiver.close();
      await begin('Test');
      await submit('Test');
      await dialog().getByText('no answer from 127.0.0.1').waitFor();
      expect(receiver.received.map(({ event }) => event.type)).to.deep.equal([
        'endpoint.test',
        'endpoint.test',
      ]);
      expect((await onlyEndpoint())?.failingSince).to.equal(undefined);
    });

    it('shows its secret before the page is loaded again', async () => {
      await open('#/endpoints', hub.token);
      await begin('Add endpoint');
      await field('URL').fill(receiver.url);
      await check('all events').check();
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route('**/ListEndpoints', async (route) => {
        await held;
        await route.continue();
      });
      try {
        await submit('Add');
        expect(await field('Secret').inputValue()).to.match(/^whsec_/);
      } finally {
        release();
      }
      await submit('Close');
      await rows('Endpoints').getByText(receiver.url).waitFor();
    });

    it('gets a new secret, shown once, while the old one still signs', async () => {
      const { endpoint, secret } = await events.createEndpoint({
        settings: { url: receiver.url, events: ['license.issued'] },
      });
      await open(`#/endpoints/${endpoint?.endpointId}`, hub.token);
      await begin('Rotate secret');
      await field('Hours that the old secret still signs').fill('200');
      await submit('Rotate secret');
      await dialog().getByText('Enter at most 168.').waitFor();
      await field('Hours that the old secret still signs').fill('48');
      await submit('Rotate secret');
      await dialog().getByText('Deliveries are also signed with the old secret until').waitFor();
      const next = await field('Secret').inputValue();
      await submit('Close');
      expect(await page.evaluate('document.documentElement.outerHTML')).not.to.contain(next);
      await main().getByText('Old secret signs until').waitFor();
      const until = Number((await onlyEndpoint())?.previousSecretUntil?.seconds) - Date.now() / 1_000;
      expect(until / 3_600).to.be.closeTo(48, 0.1);
      await issueLicense(hub.admin, { app });
      await untilReceived(1);
      verify(next);
      verify(secret);
    });

    it('is disabled with a reason, and enabled', async () => {
      const { endpointId } = await addEndpoint();
      await open(`#/endpoints/${endpointId}`);
      await begin('Disable');
      await dialog().getByText('Pending deliveries stay').waitFor();
      await field('Reason (stored in the audit log)').fill('The shop moves');
      await submit('Disable');
      await said('The endpoint is disabled.');
      await badge('disabled');
      await main().getByText('The shop moves').waitFor();
      await here.goTo('#/endpoints');
      expect(await rows('Endpoints').innerText())
        .to.contain('disabled')
        .and.to.contain('The shop moves');
      await here.goTo(`#/endpoints/${endpointId}`);
      await begin('Enable');
      await submit('Enable');
      await said('The endpoint is enabled.');
      await badge('enabled');
      expect((await onlyEndpoint())?.disabledAt).to.equal(undefined);
    });

    it('lists its failed deliveries, with links to the events', async () => {
      const endpoint = await addEndpoint({ events: ['license.issued'] });
      const { endpointId } = endpoint;
      await issueLicense(hub.admin, { app });
      await untilTried(endpoint);
      receiver.answer = () => 500;
      const { licenseId } = await issueLicense(hub.admin, { app });
      const eventId = await eventOf(licenseId, 'license.issued');
      await untilReceived(2);
      await until(async () => (await onlyEndpoint())?.failingSince !== undefined, 'the endpoint fails');
      await open(`#/endpoints/${endpointId}`, tokens.viewer);
      await badge('failing');
      expect(await rows('Deliveries').count()).to.equal(2);
      await main().getByRole('link', { name: 'Failed' }).click();
      await main().getByText('No delivery has failed.').waitFor();
      // The next attempt is the last one.
      await query(
        hub.databaseUrl,
        `update event_delivery set attempts = 9, next_attempt_at = now() where state = 'pending'`,
      );
      await rows('Deliveries').waitFor();
      expect(await rows('Deliveries').innerText())
        .to.contain('failed')
        .and.to.contain('the endpoint answered with status 500');
      const { deliveries } = await events.listDeliveries({ endpointId, state: DeliveryState.FAILED });
      expect(deliveries.map((delivery) => delivery.eventId)).to.deep.equal([eventId]);
      await rows('Deliveries').getByRole('link').click();
      await page.getByRole('heading', { name: 'Event', exact: true }).waitFor();
      expect(page.url()).to.contain(eventId);
    });

    it('is removed after a clear warning', async () => {
      const { endpointId } = await addEndpoint();
      await open(`#/endpoints/${endpointId}`, hub.token);
      await begin('Remove');
      await dialog().getByText('This cannot be undone.').waitFor();
      expect(await dialog().getByRole('button', { name: 'Remove' }).isDisabled()).to.equal(true);
      await field('Type REMOVE to confirm').fill('remove');
      await submit('Remove');
      await said('The endpoint is removed.');
      await page.getByRole('heading', { name: 'Endpoints' }).waitFor();
      await main().getByText('There is no endpoint').waitFor();
      expect(await onlyEndpoint()).to.equal(undefined);
    });
  });

  describe('what each role may do', () => {
    it('offers only what the role allows', async () => {
      const { endpointId } = await addEndpoint();
      const found: Record<string, unknown> = {};
      for (const [name, token] of Object.entries({ ...tokens, admin: hub.token })) {
        await open('#/', token);
        const links = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();
        const offered: string[][] = [];
        if (links.includes('Endpoints')) {
          for (const hash of ['#/endpoints', `#/endpoints/${endpointId}`]) {
            await here.goTo(hash);
            await main().locator('table, dl').first().waitFor();
            offered.push(await main().locator('.page-head button').allInnerTexts());
          }
        }
        found[name] = [links.filter((link) => link === 'Events' || link === 'Endpoints'), ...offered];
        await here.close();
      }
      const both = ['Events', 'Endpoints'];
      expect(found).to.deep.equal({
        operator: [both, [], ['Test', 'Disable']],
        viewer: [both, [], []],
        ofApp: [['Events']],
        admin: [both, ['Add endpoint'], ['Test', 'Edit', 'Rotate secret', 'Disable', 'Remove']],
      });
    });
  });

  describe('after all tests', () => {
    it('causes no errors, no policy violations, no external requests, and no token in an address', () => {
      expect(complaints).to.deep.equal([]);
    });
  });
});
