// The console over TLS, signed in with a client certificate that the browser shows.
import { readFile } from 'node:fs/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { type Browser, findChromium, INSTALLATION_MS, openBrowser } from '../support/chromium.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import {
  type Certificates,
  type Issuer,
  makeCertificates,
  type Pair,
  subjectOf,
} from '../support/network/certificates.ts';

describe('the console over TLS', () => {
  let certificates: Certificates;
  let issuer: Issuer;
  let client: Pair;
  let hub: TestHub;
  let browser: Browser;
  before(async function () {
    this.timeout(INSTALLATION_MS);
    const missing = await findChromium();
    if (missing !== undefined) {
      process.stderr.write(`    ${missing}\n`);
      return this.skip();
    }
    certificates = await makeCertificates();
    issuer = await certificates.createIssuer('issuer');
    const server = await issuer.issue('/CN=hub');
    client = await issuer.issue('/CN=night-shift');
    hub = await startHub({
      settings: { rpcTlsCert: server.cert, rpcTlsKey: server.key, rpcTlsClientCa: issuer.ca },
    });
    const shown = { origin: hub.rpcUrl, certPath: client.cert, keyPath: client.key };
    browser = await openBrowser({ ignoreHTTPSErrors: true, clientCertificates: [shown] });
  });
  after(async () => {
    await browser?.close();
    await hub?.stop();
    await certificates?.remove();
  });

  const admit = async (certificateSubject: string): Promise<void> => {
    const nodeOptions = { ca: await readFile(issuer.ca, 'utf8') };
    const transport = createConnectTransport({ baseUrl: hub.rpcUrl, httpVersion: '1.1', nodeOptions });
    await createClient(TokenService, transport).createToken(
      { name: 'night-shift', role: Role.VIEWER, certificateSubject },
      { headers: { authorization: `Bearer ${hub.token}` } },
    );
  };

  it('accepts a known client certificate, and explains a missing one', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${hub.rpcUrl}/console/#/apps`);
    const enter = page.getByRole('button', { name: 'Use my client certificate' });
    await enter.click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).to.contain('knows no client certificate of this browser');
    await admit(await subjectOf(client));
    await enter.click();
    await page.getByRole('heading', { name: 'Apps and keys' }).waitFor();
    expect(await page.getByRole('banner').first().innerText())
      .to.contain('night-shift')
      .and.to.contain('viewer');
  });
});
