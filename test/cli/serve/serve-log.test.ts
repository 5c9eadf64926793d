// The log of a hub: one line for each request under the id that the client got, and never a secret.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../../support/hub/license.ts';
import { activate, checkStatus, deactivate, post } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';

describe('the log of a hub', () => {
  const lines: string[] = [];
  let hub: TestHub;
  let license: TestLicense;
  before(async () => {
    hub = await startHub({
      log: { write: (line) => void lines.push(line) },
      settings: { logLevel: 'trace' },
    });
    license = await issueLicense(hub.admin);
  });
  after(() => hub?.stop());

  const entries = () => lines.map((line) => JSON.parse(line));

  it('has one line for a REST request, under the id of its response', async () => {
    const { headers } = await fetch(`${hub.gatewayUrl}/v1/status/${license.licenseId}?fp=unknown`);
    const id = headers.get('x-request-id');
    const found = entries().filter(({ requestId }) => requestId === id);
    expect(found).to.have.length(1);
    expect(found[0]).to.include({
      msg: 'request',
      method: 'GET',
      route: '/v1/status/{licenseId}',
      status: 403,
      ip: '127.0.0.1',
    });
    expect(found[0].ms).to.be.a('number');
  });

  it('has one line for a call with its caller, also for a failed one', async () => {
    let id: string | null = null;
    await hub.admin.listApps({}, { onHeader: (headers) => (id = headers.get('x-request-id')) });
    const refused = await hub.admin.getLicense({ licenseId: 'lic_unknown' }).catch((error) => error);
    const [listed, failed] = [id, refused.metadata.get('x-request-id')].map((each) =>
      entries().filter(({ requestId, msg }) => requestId === each && msg === 'rpc'),
    );
    const rpc = 'hub.license.v1.LicenseAdminService';
    expect(listed).to.have.length(1);
    expect(listed?.[0]).to.include({ msg: 'rpc', rpc: `${rpc}/ListApps`, caller: 'local admin', code: 'ok' });
    expect(failed).to.have.length(1);
    expect(failed?.[0]).to.include({ rpc: `${rpc}/GetLicense`, code: 'NotFound' });
  });

  it('has the messages at level trace, without their secrets', async () => {
    const { licenseKey, licenseId } = license;
    const licenses = createClient(LicenseService, transportTo(hub.rpcUrl, hub.token));
    await licenses.deactivate({ licenseKey, machineFingerprint: 'nowhere' }).catch(() => {}); // it never had a seat
    const messages = entries().flatMap(({ message }) => (message === undefined ? [] : [message]));
    expect(messages).to.deep.include({ licenseKey: '[secret]', machineFingerprint: '[secret]' });
    expect(JSON.stringify(messages)).to.contain(licenseId).and.not.contain(licenseKey);
  });

  it('never contains a license key, a token or a private key, even at level trace', async () => {
    const { licenseKey, licenseId, app } = license;
    const stray = {
      key: 'STRAY-KEY00-KEY00-KEY00-KEY00',
      token: 'hub_stray-token-of-somebody',
      fp: 'stray-fp',
    };
    const intruder = createClient(LicenseAdminService, transportTo(hub.rpcUrl, stray.token));
    const url = hub.gatewayUrl;
    await activate(url, licenseKey, stray.fp, { appVersion: '1.0' });
    await activate(url, licenseKey, stray.fp, { appVersion: licenseKey });
    await activate(url, stray.key, stray.fp);
    await activate(url, 'x'.repeat(300) + licenseKey, stray.fp);
    await post(url, '/v1/activate', { licenseKey: { licenseKey }, [licenseKey]: 1 });
    await fetch(`${url}/v1/activate`, { method: 'POST', body: `{"licenseKey":"${licenseKey}"` });
    await fetch(`${url}/v1/activate?licenseKey=${licenseKey}`, { headers: { authorization: stray.token } });
    await checkStatus(url, licenseId, stray.fp);
    await checkStatus(url, licenseKey);
    await deactivate(url, licenseKey, stray.fp);
    const refused = await intruder.listApps({}).catch((error) => error);
    expect(refused.message).to.contain('unauthenticated');
    await hub.admin.rotateSigningKey({ app });
    await query(hub.databaseUrl, 'alter table seat rename to seats');
    expect((await activate(url, licenseKey, stray.fp)).status).to.equal(500);
    await query(hub.databaseUrl, 'alter table seats rename to seat');

    const rows = await query<{ hex: string; base64: string }>(
      hub.databaseUrl,
      `select encode(sealed_private_key, 'hex') as hex, encode(sealed_private_key, 'base64') as base64
       from signing_key union all select encode(token_hash, 'hex'), encode(token_hash, 'base64') from service_token`,
    );
    expect(rows).to.have.length(3);
    const log = lines.join('');
    expect(log).to.contain('"status":500').and.contain('"status":400');
    const secrets = {
      'a license key': licenseKey,
      'a license key without dashes': licenseKey.replaceAll('-', ''),
      'an unknown license key': stray.key,
      'the admin token': hub.token,
      'an unknown token': stray.token,
      'a fingerprint': stray.fp,
      'a private key': 'PRIVATE KEY',
      ...Object.fromEntries(rows.map(({ hex }, index) => [`sealed secret ${index} in hex`, hex])),
      ...Object.fromEntries(rows.map(({ base64 }, index) => [`sealed secret ${index}`, base64.slice(0, 40)])),
    };
    for (const [name, secret] of Object.entries(secrets)) {
      expect(log.toLowerCase().includes(secret.toLowerCase()), `${name} is in the log`).to.equal(false);
    }
  });
});
