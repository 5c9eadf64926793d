// How the license endpoints translate requests into RPCs and responses into answers.
import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { type FakeCore, objectIn, refusal, startGateway, type TestGateway } from '../fake-core.ts';

const REQUEST = { licenseKey: 'KEY-1', machineFingerprint: 'fp-1' };

describe('the license endpoints', () => {
  let gateway: TestGateway;
  const start = async (core: FakeCore = {}): Promise<void> => {
    gateway = await startGateway({}, core);
  };
  afterEach(() => gateway.close(0));

  it('activate a seat and return the signed license unchanged', async () => {
    let seen: unknown;
    await start({
      activate: ({ $typeName, ...request }, { requestHeader }) => {
        seen = { ...request, requestId: requestHeader.get('x-request-id') };
        return { license: { b: [1, null, { z: 'ü' }], a: -1 }, publicKeyPem: 'PEM' };
      },
    });
    const response = await gateway.post('/v1/activate', {
      ...REQUEST,
      machineLabel: 'Desk',
      appVersion: '1.2',
      extra: 1,
    });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json');
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
    expect(await objectIn(response)).to.deep.equal({
      ok: true,
      license: { b: [1, null, { z: 'ü' }], a: -1 },
      publicKeyPem: 'PEM',
    });
    const requestId = response.headers.get('x-request-id');
    expect(seen).to.deep.equal({ ...REQUEST, machineLabel: 'Desk', appVersion: '1.2', requestId });
  });

  it('release a seat', async () => {
    await start();
    const response = await gateway.post('/v1/deactivate', REQUEST);
    expect(response.status).to.equal(200);
    expect(await objectIn(response)).to.deep.equal({ ok: true, released: true });
  });

  it('return the status without absent members', async () => {
    await start();
    expect(await (await gateway.get('/v1/status/lic_1')).json()).to.deep.equal({
      ok: true,
      licenseId: 'lic_1',
      state: 'active',
      seats: { limit: 3, used: 1 },
      checkedAt: '2026-03-01T10:20:30.456Z',
      recheckAfterSeconds: 3600,
    });
  });

  it('return the status with expiry and limits, numbers as numbers', async () => {
    const at = { seconds: 1_767_225_600n, nanos: 7_000_000 };
    const seats = { limit: -1, used: 2 };
    const limits = { projects: 9_007_199_254_740_991n, exports: -1n };
    await start({ checkStatus: () => ({ seats, checkedAt: at, expiresAt: at, limits }) });
    expect(await (await gateway.get('/v1/status/x')).json()).to.deep.include({
      seats,
      expiresAt: '2026-01-01T00:00:00.007Z',
      limits: { projects: 9_007_199_254_740_991, exports: -1 },
    });
  });

  it('return features, the version of the terms, and the grace of an active license', async () => {
    const [expiresAt, graceEndsAt] = [{ seconds: 1_767_225_600n }, { seconds: 1_767_830_400n }];
    const status = { seats: {}, checkedAt: expiresAt, expiresAt, graceEndsAt, state: LicenseState.GRACE };
    const terms = { features: ['export', 'sync'], termsVersion: 3 };
    await start({ checkStatus: () => ({ ...status, ...terms }) });
    expect(await (await gateway.get('/v1/status/x')).json()).to.deep.include({
      ...terms,
      state: 'active',
      expiresAt: '2026-01-01T00:00:00.000Z',
      graceEndsAt: '2026-01-08T00:00:00.000Z',
    });
  });

  it('check exactly the license and the fingerprint of the URL', async () => {
    const seen: unknown[] = [];
    await start({
      checkStatus: ({ licenseId, machineFingerprint }) => {
        seen.push([licenseId, machineFingerprint]);
        throw refusal(Code.NotFound, { code: 'license_unknown' });
      },
    });
    await gateway.get('/v1/status/a%2Fb?fp=x%2By+z&other=1');
    await gateway.get('/v1/status/%00');
    expect(seen).to.deep.equal([
      ['a/b', 'x+y z'],
      ['\u0000', undefined],
    ]);
  });

  it('serve the public key as PEM that can be cached and revalidated', async () => {
    await start();
    const response = await gateway.get('/v1/apps/demo/public-key');
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/x-pem-file');
    expect(response.headers.get('cache-control')).to.equal('public, max-age=300');
    expect(response.headers.get('etag')).to.equal('"kid-1"');
    expect(await response.text()).to.match(/^-----BEGIN PUBLIC KEY-----\n/);
  });

  it('serve the JWKS, cacheable too', async () => {
    await start();
    const response = await gateway.get('/v1/apps/demo/jwks.json');
    expect(response.headers.get('content-type')).to.equal('application/jwk-set+json');
    expect(response.headers.get('cache-control')).to.equal('public, max-age=300');
    expect(response.headers.get('etag')).to.match(/^"[\w-]{43}"$/);
    const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'kid-1', alg: 'ES256', use: 'sig' };
    expect(await objectIn(response)).to.deep.equal({ keys: [key] });
  });

  it('return 304 without a body for a matching entity tag', async () => {
    await start();
    for (const tag of ['"kid-1"', 'W/"kid-1"', '"other", "kid-1"', '*']) {
      const response = await gateway.get('/v1/apps/demo/public-key', { headers: { 'if-none-match': tag } });
      expect(response.status, tag).to.equal(304);
      expect(response.headers.get('etag'), tag).to.equal('"kid-1"');
      expect(response.headers.get('content-length'), tag).to.equal(null);
      expect(await response.text(), tag).to.equal('');
    }
    const stale = await gateway.get('/v1/apps/demo/public-key', { headers: { 'if-none-match': '"kid-0"' } });
    expect(stale.status).to.equal(200);
  });

  it('serve the limits of the free profile', async () => {
    await start();
    const limits = { projects: 3, exports: -1 };
    const response = await gateway.get('/v1/apps/demo/limits/free');
    expect(await objectIn(response)).to.deep.equal({ app: 'demo', profile: 'free', limits });
  });

  it('answer HEAD like GET, without the body', async () => {
    await start();
    for (const path of ['/v1/status/lic_1', '/v1/apps/demo/public-key', '/healthz']) {
      const whole = await gateway.get(path);
      const head = await gateway.get(path, { method: 'HEAD' });
      expect(head.status, path).to.equal(200);
      expect(head.headers.get('content-length'), path).to.equal(String((await whole.bytes()).length));
      expect(await head.text(), path).to.equal('');
    }
  });
});
