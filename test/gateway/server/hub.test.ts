// The REST surface of a real hub, as a desktop application meets it.
import { createPublicKey } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';

type Members = { [name: string]: unknown };

describe('the REST surface of a hub', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
    await hub.admin.createApp({ slug: 'demo' });
    await hub.admin.setLimitProfile({ app: 'demo', name: 'free', limits: { projects: 3n, exports: -1n } });
  });
  after(() => hub?.stop());

  const call = async (path: string, body?: Members): Promise<[status: number, answer: Members]> => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(hub.gatewayUrl + path, body && init);
    return [response.status, (await response.json()) as Members]; // asserted by each test
  };
  const issue = async (
    about: { seatLimit?: number; limits?: { [name: string]: bigint }; expiresAt?: Date } = {},
  ) => {
    const { seatLimit = 1, limits = {}, expiresAt } = about;
    const { licenses } = await hub.admin.issueLicenses({
      app: 'demo',
      seatLimit,
      limits,
      ...(expiresAt && { expiresAt: timestampFromDate(expiresAt) }),
    });
    const [issued] = licenses;
    return { licenseKey: issued?.licenseKey ?? '', licenseId: issued?.license?.licenseId ?? '' };
  };
  const refused = ([status, { code }]: [number, Members]): [number, unknown] => [status, code];

  it('serves a machine from activation over soft checks to release', async () => {
    const { licenseKey, licenseId } = await issue({ limits: { projects: 10n } });
    const seat = { licenseKey, machineFingerprint: 'machine-1' };

    const [activated, { ok, license, publicKeyPem }] = await call('/v1/activate', {
      ...seat,
      appVersion: '1.0',
    });
    expect([activated, ok]).to.deep.equal([200, true]);
    expect(license).to.include({ licenseId, app: 'demo', machineFingerprint: 'machine-1', alg: 'ES256' });
    expect(createPublicKey(String(publicKeyPem)).asymmetricKeyType).to.equal('ec');

    const [checked, status] = await call(`/v1/status/${licenseId}?fp=machine-1`);
    expect(checked).to.equal(200);
    expect(status).to.deep.include({
      ok: true,
      licenseId,
      state: 'active',
      seats: { limit: 1, used: 1 },
      limits: { projects: 10 },
    });
    expect(status).not.to.have.property('expiresAt');
    expect(status['checkedAt']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(status['recheckAfterSeconds']).to.be.a('number').above(0);

    expect(await call('/v1/deactivate', seat)).to.deep.equal([200, { ok: true, released: true }]);
    expect(await call('/v1/deactivate', seat)).to.deep.equal([200, { ok: true, released: false }]);
    expect(refused(await call(`/v1/status/${licenseId}?fp=machine-1`))).to.deep.equal([
      403,
      'seat_not_active',
    ]);
    expect((await call(`/v1/status/${licenseId}`))[0]).to.equal(200);
  });

  it('omits limits that a license does not have, and returns its expiry', async () => {
    const { licenseId } = await issue({ expiresAt: new Date('2999-12-31T23:59:59.250Z') });
    const [, status] = await call(`/v1/status/${licenseId}`);
    expect(status).not.to.have.property('limits');
    expect(status['expiresAt']).to.equal('2999-12-31T23:59:59.250Z');
  });

  it('refuses one seat too many with 409 and the seats', async () => {
    const { licenseKey } = await issue();
    await call('/v1/activate', { licenseKey, machineFingerprint: 'a' });
    const [status, problem] = await call('/v1/activate', { licenseKey, machineFingerprint: 'b' });
    expect(status).to.equal(409);
    expect(problem).to.deep.include({ code: 'seat_limit_reached', ok: false, seats: { limit: 1, used: 1 } });
  });

  it('returns 404 for unknown ids', async () => {
    const { licenseKey } = await issue();
    const stranger = { licenseKey: '7Q2M4-00000-00000-00000-00000', machineFingerprint: 'a' };
    const unseated = { licenseKey, machineFingerprint: 'never-seen' };
    expect(refused(await call('/v1/activate', stranger))).to.deep.equal([404, 'license_key_unknown']);
    expect(refused(await call('/v1/deactivate', stranger))).to.deep.equal([404, 'license_key_unknown']);
    expect(refused(await call('/v1/deactivate', unseated))).to.deep.equal([404, 'seat_unknown']);
    expect(refused(await call('/v1/apps/nobody/public-key'))).to.deep.equal([404, 'app_unknown']);
    expect(refused(await call('/v1/apps/nobody/jwks.json'))).to.deep.equal([404, 'app_unknown']);
    expect(refused(await call('/v1/apps/nobody/limits/free'))).to.deep.equal([404, 'app_unknown']);
    await hub.admin.createApp({ slug: 'bare' });
    expect(refused(await call('/v1/apps/bare/limits/free'))).to.deep.equal([404, 'limit_profile_unknown']);
  });

  it('accepts any text as an id, and returns 404', async () => {
    for (const id of [
      'x',
      '%00',
      'a%2Fb',

      "';--",
      '%F0%9F%98%80',
      'lic_00000000000000000000000000',
    ]) {
      expect(refused(await call(`/v1/status/${id}`)), id).to.deep.equal([404, 'license_unknown']);
      expect(refused(await call(`/v1/apps/${id}/public-key`)), id).to.deep.equal([404, 'app_unknown']);
    }
  });

  it('accepts any printable text as the description of a machine', async () => {
    const { licenseKey } = await issue({ seatLimit: -1 });
    for (const machineFingerprint of ['\u{1f5a5}'.repeat(256), 'a b', '%00', '\'"\\', 'ß\u0301', '\ufeff']) {
      const [status] = await call('/v1/activate', { licenseKey, machineFingerprint });
      expect(status, machineFingerprint).to.equal(200);
    }
    for (const machineFingerprint of ['', 'a\u0000', 'a\nb', '\u202e', 'x'.repeat(257)]) {
      const answer = await call('/v1/activate', { licenseKey, machineFingerprint });
      expect(refused(answer), JSON.stringify(machineFingerprint)).to.deep.equal([400, 'invalid_request']);
      expect(answer[1]['errors']).to.have.length(1);
    }
    const [status] = await call('/v1/activate', { licenseKey: 'K\u0000', machineFingerprint: 'a' });
    expect(status).to.equal(404);
  });

  it('returns 410 for a revoked license, whose seats can still be released', async () => {
    const { licenseKey, licenseId } = await issue();
    const seat = { licenseKey, machineFingerprint: 'a' };
    await call('/v1/activate', seat);
    await hub.admin.revokeLicense({ licenseId, reason: 'charged back' });
    expect(refused(await call('/v1/activate', seat))).to.deep.equal([410, 'license_revoked']);
    expect(refused(await call(`/v1/status/${licenseId}?fp=other`))).to.deep.equal([410, 'license_revoked']);
    expect(await call('/v1/deactivate', seat)).to.deep.equal([200, { ok: true, released: true }]);
  });

  it('publishes the key and the limits of an app', async () => {
    const key = await fetch(`${hub.gatewayUrl}/v1/apps/demo/public-key`);
    const [, { keys }] = await call('/v1/apps/demo/jwks.json');
    const [jwk] = keys as JsonWebKeyWithKid[]; // asserted below
    expect(key.headers.get('etag')).to.equal(`"${jwk?.kid}"`);
    const { x, y } = createPublicKey(await key.text()).export({ format: 'jwk' });
    expect(jwk).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', x, y });
    expect(await call('/v1/apps/demo/limits/free')).to.deep.equal([
      200,
      { app: 'demo', profile: 'free', limits: { projects: 3, exports: -1 } },
    ]);
  });

  it('returns a new entity tag with a new signing key', async () => {
    await hub.admin.createApp({ slug: 'rotating' });
    const url = `${hub.gatewayUrl}/v1/apps/rotating/public-key`;
    const before = (await fetch(url)).headers.get('etag') ?? '';
    const revalidate = (): Promise<Response> => fetch(url, { headers: { 'if-none-match': before } });
    expect((await revalidate()).status).to.equal(304);
    await hub.admin.rotateSigningKey({ app: 'rotating' });
    const after = await revalidate();
    expect(after.status).to.equal(200);
    expect(after.headers.get('etag')).not.to.equal(before);
  });

  it('is ready', async () => {
    expect(await call('/readyz')).to.deep.equal([200, { ok: true }]);
  });
});

type JsonWebKeyWithKid = { kid: string; [name: string]: string };
