// The packaged client in a browser, like in a renderer of Electron: no Node.js, another WebCrypto, another
// fetch.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { activate } from '../support/network/rest.ts';
import { kidOf, publicKeyOf } from './machine.ts';
import { createVendorProject, type VendorProject } from './vendor-project.ts';

describe('the client in a browser', () => {
  let project: VendorProject;
  let server: Server;
  let hub: TestHub;
  let browser: Browser;
  let page: Page;
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    project = await createVendorProject();
    server = createServer(async ({ url = '/' }, res) => {
      const file = /^\/client\/([\w-]+\.js)$/.exec(url)?.[1];
      res.setHeader('content-type', file === undefined ? 'text/html' : 'text/javascript');
      res.end(file === undefined ? '<title>app</title>' : await readFile(join(project.packagePath, file)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const origin = `http://127.0.0.1:${port}`;
    hub = await startHub({ settings: { corsOrigins: [origin] } });
    browser = await openBrowser();
    page = await browser.context.newPage();
    await page.goto(origin);
  });
  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await Promise.all([hub?.stop(), project?.[Symbol.asyncDispose]()]);
  });

  /** Runs the body of an async function in the page, with what it needs to know. */
  const inPage = async (issued: TestLicense, body: string): Promise<unknown> => {
    const known = {
      hubUrl: hub.gatewayUrl,
      app: issued.app,
      publicKeyPem: await publicKeyOf(hub.gatewayUrl, issued.app),
      kid: await kidOf(hub.gatewayUrl, issued.app),
      licenseKey: issued.licenseKey,
    };
    return page.evaluate(`(async ({ hubUrl, app, publicKeyPem, kid, licenseKey }) => {
      const { createLicenseClient, createMemoryStore, LicenseError } = await import('/client/client.js');
      const store = {
        load: async () => localStorage.getItem(app),
        save: async (text) => localStorage.setItem(app, text),
        clear: async () => localStorage.removeItem(app),
      };
      const open = (options) => createLicenseClient({
        hubUrl, app, store, machineFingerprint: 'browser-1', freeLimits: { projects: 1 },
        trust: { publicKeyPems: [publicKeyPem] }, ...options,
      });
      ${body}
    })(${JSON.stringify(known)})`);
  };

  it('activates, verifies offline, soft-checks and releases', async () => {
    const issued = await issueLicense(hub.admin, {
      customer: 'Zoë 💻',
      limits: { projects: 7n },
      leaseDays: 7,
    });
    const said = await inPage(
      issued,
      `const client = await open();
       const before = client.current();
       const activated = await client.activate(licenseKey);
       const offline = (await open({ hubUrl: 'http://127.0.0.1:1' })).current();
       const checked = await client.recheck({ force: true });
       const released = await client.deactivate();
       return [before.reason, activated.license.customer, offline.limits, checked.problem?.code ?? 'confirmed',
         released.reason, localStorage.getItem(app)];`,
    );
    expect(said).to.deep.equal(['no_license', 'Zoë 💻', { projects: 7 }, 'confirmed', 'no_license', null]);
  });

  it('verifies by a thumbprint, and refuses altered licenses', async () => {
    const issued = await issueLicense(hub.admin);
    const said = await inPage(
      issued,
      `const trust = { thumbprints: [kid] };
       await (await open({ trust })).activate(licenseKey);
       const good = (await open({ trust })).current().licensed;
       const otherMachine = (await open({ trust, machineFingerprint: 'browser-2' })).current().reason;
       localStorage.setItem(app, localStorage.getItem(app).replace('browser-1', 'browser-2'));
       return [good, otherMachine, (await open({ trust })).current().reason];`,
    );
    expect(said).to.deep.equal([true, 'wrong_machine', 'record_unreadable']);
  });

  it('reports refusals, and retries in the background', async () => {
    const issued = await issueLicense(hub.admin, { seatLimit: 1 });
    await activate(hub.gatewayUrl, issued.licenseKey, 'another-machine');
    const said = await inPage(
      issued,
      `const client = await open({ store: createMemoryStore() });
       const error = await client.activate(licenseKey).catch((thrown) => thrown);
       client.start();
       const verdict = await client.recheck();
       await client.stop();
       return [error instanceof LicenseError, error.code, error.seats, verdict.problem?.code ?? 'none'];`,
    );
    expect(said).to.deep.equal([true, 'seat_limit_reached', { limit: 1, used: 1 }, 'none']);
  });
});
