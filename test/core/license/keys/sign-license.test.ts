// Signed licenses: their members, and the content that is refused. Verification is tested in verify/.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { expect } from 'chai';
import { type LicenseContent, signLicense } from '../../../../core/license/keys/sign-license.ts';
import { generateSigningKey } from '../../../../core/license/keys/signing-key-pair.ts';

const CONTENT: LicenseContent = {
  licenseId: 'lic_01kxyz0000e0r9m5r1c2q3s4t5',
  app: 'paintbox',
  seatId: 'seat_01kxyz0000e0r9m5r1c2q3s4t5',
  machineFingerprint: 'fp-1',
  termsVersion: 1,
  issuedAt: '2026-01-02T03:04:05.678Z',
  kid: 'key-1',
};

function newPrivateKey(): KeyObject {
  return createPrivateKey({ key: generateSigningKey().privateKeyPkcs8, format: 'der', type: 'pkcs8' });
}

async function expectRefusal(content: object, key: KeyObject, named: string): Promise<void> {
  const failure = await signLicense(content as LicenseContent, key).catch((error: unknown) => error);
  expect(failure, named).to.be.instanceOf(TypeError).with.property('message').that.includes(named);
}

describe('signed license', () => {
  const privateKey = newPrivateKey();

  it('is the content with the algorithm and a 64-byte signature in base64url', async () => {
    const { signature, ...unsigned } = await signLicense(CONTENT, privateKey);
    expect(unsigned).to.deep.equal({ ...CONTENT, alg: 'ES256' });
    expect(signature).to.match(/^[A-Za-z0-9_-]{86}$/);
    expect(Buffer.from(signature, 'base64url')).to.have.length(64);
  });

  it('has no members for unset values', async () => {
    expect(await signLicense(CONTENT, privateKey)).to.have.all.keys(
      ...Object.keys(CONTENT),
      'alg',
      'signature',
    );
  });

  it('keeps every optional member', async () => {
    const content: LicenseContent = {
      ...CONTENT,
      customer: 'Ada',
      limits: { projects: -1 },
      expiresAt: '2027-01-02T03:04:05.678Z',
      leaseExpiresAt: '2026-02-02T03:04:05.678Z',
    };
    expect(await signLicense(content, privateKey)).to.deep.include(content);
  });

  for (const [what, value] of Object.entries({
    'an integer beyond 2^53 - 1': Number.MAX_SAFE_INTEGER + 1,
    'an integer below -(2^53 - 1)': Number.MIN_SAFE_INTEGER - 1,
    'a fraction': 1.5,
    'not a number': Number.NaN,
    infinity: Number.POSITIVE_INFINITY,
  })) {
    it(`is refused if a limit is ${what}`, async () => {
      await expectRefusal({ ...CONTENT, limits: { projects: value } }, privateKey, 'limits.projects');
    });
  }

  for (const name of ['9', '', 'größe', '__proto__', 'a\ud800']) {
    it(`is refused if a limit is named ${JSON.stringify(name)}`, async () => {
      const limits = Object.fromEntries([[name, 1]]);
      await expectRefusal({ ...CONTENT, limits }, privateKey, 'is not a name');
    });
  }

  it('is refused if a text contains a lone surrogate', async () => {
    for (const customer of ['\ud83d', 'x\ude00', '\ude00\ud83d']) {
      await expectRefusal({ ...CONTENT, customer }, privateKey, 'customer');
    }
  });

  it('is refused if an optional member is null or undefined instead of absent', async () => {
    for (const member of ['customer', 'limits', 'expiresAt', 'leaseExpiresAt']) {
      for (const value of [null, undefined]) {
        await expectRefusal({ ...CONTENT, [member]: value }, privateKey, member);
      }
    }
  });

  it('is refused if a time is not in UTC with milliseconds', async () => {
    for (const time of [
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05.678+01:00',
      '+010000-01-01T00:00:00.000Z',
    ]) {
      await expectRefusal({ ...CONTENT, expiresAt: time }, privateKey, 'expiresAt');
    }
  });

  it('verifies if r or s begins with zero bytes', async () => {
    const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' } as const;
    let short = 0;
    for (let time = 0; time < 2_000; time++) {
      const { signature, ...unsigned } = await signLicense(CONTENT, privateKey);
      const bytes = Buffer.from(signature, 'base64url');
      if (bytes[0] === 0 || bytes[32] === 0) short += 1;
      expect(verify('sha256', Buffer.from(canonicalize(unsigned) ?? ''), key, bytes)).to.equal(true);
    }
    expect(short).to.be.above(0);
  });

  it('is refused with another kind of key', async () => {
    const others = [
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey,
      generateKeyPairSync('ec', { namedCurve: 'P-224' }).privateKey,
      generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey,
    ];
    for (const key of others) await expectRefusal(CONTENT, key, 'P-256');
  });

  it('verifies if a thread of the pool has signed it, and is refused there with another kind of key', async () => {
    const { signature, ...unsigned } = await signLicense(CONTENT, privateKey, 'pool');
    const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' } as const;
    const bytes = Buffer.from(canonicalize(unsigned) ?? '');
    expect(verify('sha256', bytes, key, Buffer.from(signature, 'base64url'))).to.equal(true);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    expect(await signLicense(CONTENT, other, 'pool').catch(String)).to.include('P-256');
  });
});
