import { webcrypto } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import canonicalize from 'canonicalize';
import { expect } from 'chai';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { SigningKeyState } from '../../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';

describe('the signing keys of an app', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('can be rotated: older licenses still verify through the JWKS, newer ones use the new key', async () => {
    const { licenseKey, app } = await issueLicense(hub.admin);
    const older = (await activate(hub.gatewayUrl, licenseKey, 'machine-1')).body;
    await hub.admin.rotateSigningKey({ app });
    const newer = (await activate(hub.gatewayUrl, licenseKey, 'machine-1')).body;
    expect(newer.license.kid).to.not.equal(older.license.kid);
    expect(newer.publicKeyPem).to.not.equal(older.publicKeyPem);
    const keys = await jwks(app);
    expect(keys.map(({ kid }) => kid)).to.deep.equal([newer.license.kid, older.license.kid]);
    expect(await verifies(keys, older.license)).to.equal(true);
    expect(await verifies(keys, newer.license)).to.equal(true);
    expect(await verifies(keys, { ...older.license, machineFingerprint: 'machine-2' })).to.equal(false);
    expect(await publicKey(app)).to.equal(newer.publicKeyPem);
  });

  it('can be withdrawn after they are retired, and are then no longer published', async () => {
    const { licenseKey, app } = await issueLicense(hub.admin);
    const { license } = (await activate(hub.gatewayUrl, licenseKey, 'machine-1')).body;
    expect(await refusal(hub.admin.withdrawSigningKey({ app, kid: license.kid }))).to.equal(
      'signing_key_active',
    );
    await hub.admin.rotateSigningKey({ app });
    const withdrawn = await hub.admin.withdrawSigningKey({ app, kid: license.kid });
    expect(withdrawn.app?.signingKeys.map(({ state }) => state)).to.deep.equal([
      SigningKeyState.ACTIVE,
      SigningKeyState.WITHDRAWN,
    ]);
    expect(await verifies(await jwks(app), license)).to.equal(false);
    expect(await refusal(hub.admin.withdrawSigningKey({ app, kid: 'unknown' }))).to.equal(
      'signing_key_unknown',
    );
  });

  it('include exactly one active key, even with concurrent rotations', async () => {
    const { app } = await issueLicense(hub.admin);
    await Promise.all(Array.from({ length: 5 }, () => hub.admin.rotateSigningKey({ app })));
    const keys = (await hub.admin.getApp({ app })).app?.signingKeys ?? [];
    expect(keys).to.have.length(6);
    expect(keys.filter(({ state }) => state === SigningKeyState.ACTIVE)).to.have.length(1);
    expect(keys[0]?.state).to.equal(SigningKeyState.ACTIVE);
  });

  it('are sealed in the database', async () => {
    const { app } = await issueLicense(hub.admin);
    const [row] = await query<{ sealed: Buffer }>(
      hub.databaseUrl,
      `select sealed_private_key as sealed from signing_key k join app a on a.id = k.app_id where a.slug = $1`,
      [app],
    );
    // A P-256 key in PKCS #8 begins with this sequence; sealed it is nowhere to be found.
    expect(row?.sealed.includes(Buffer.from('301306072a8648ce3d020106082a8648ce3d030107', 'hex'))).to.equal(
      false,
    );
    expect(row?.sealed.length).to.be.greaterThan(37);
  });

  async function jwks(app: string): Promise<Jwk[]> {
    const response = await fetch(`${hub.gatewayUrl}/v1/apps/${app}/jwks.json`);
    const { keys } = (await response.json()) as { keys: Jwk[] };
    return keys;
  }

  async function publicKey(app: string): Promise<string> {
    return (await fetch(`${hub.gatewayUrl}/v1/apps/${app}/public-key`)).text();
  }
});

type Jwk = webcrypto.JsonWebKey & { readonly kid: string };

async function verifies(keys: Jwk[], license: { kid: string; signature: string }): Promise<boolean> {
  const jwk = keys.find(({ kid }) => kid === license.kid);
  if (jwk === undefined) return false;
  const curve = { name: 'ECDSA', namedCurve: 'P-256' };
  const key = await webcrypto.subtle.importKey('jwk', jwk, curve, false, ['verify']);
  const { signature, ...unsigned } = license;
  const message = new TextEncoder().encode(canonicalize(unsigned));
  const bytes = Uint8Array.from(Buffer.from(signature, 'base64url'));
  return webcrypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, bytes, message);
}

async function refusal(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown) => ConnectError.from(thrown),
  );
  expect(error?.code).to.be.oneOf([Code.NotFound, Code.FailedPrecondition]);
  return error?.findDetails(ErrorDetailSchema)[0]?.code;
}
