// Signed licenses, verified by code that the signer does not share. More cases: test/vectors.
import { createPrivateKey } from 'node:crypto';
import { expect } from 'chai';
import { type SignedLicense, signLicense } from '../../../../core/license/keys/sign-license.ts';
import { generateSigningKey } from '../../../../core/license/keys/signing-key-pair.ts';
import { SAMPLE_LICENSES } from './sample-licenses.ts';
import { isInstalled, openssl, webCrypto } from './verifiers.ts';

const { publicKeyPem, privateKeyPkcs8 } = generateSigningKey();
const privateKey = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' });
const names = Object.keys(SAMPLE_LICENSES);
const signed = await Promise.all(
  Object.values(SAMPLE_LICENSES).map((content) => signLicense(content, privateKey)),
);

const license = await signLicense(
  {
    licenseId: 'lic_01kxyz0000e0r9m5r1c2q3s4t5',
    app: 'paintbox',
    seatId: 'seat_01kxyz0000e0r9m5r1c2q3s4t5',
    machineFingerprint: 'laptop-1',
    customer: 'e\u0301',
    limits: { projects: 3 },
    termsVersion: 1,
    issuedAt: '2026-01-02T03:04:05.678Z',
    expiresAt: '2126-03-02T03:04:05.678Z',
    kid: 'key-1',
  },
  privateKey,
);
const { expiresAt, limits, ...withoutExpiryAndLimits } = license;

/** Changed copies of a license. */
const FORGERIES: Readonly<Record<string, object>> = {
  'another customer': { ...license, customer: 'Eve' },
  'a customer composed to another Unicode form': { ...license, customer: '\u00e9' },
  'a raised limit': { ...license, limits: { projects: -1 } },
  'a limit turned into text': { ...license, limits: { projects: '3' } },
  'a limit more': { ...license, limits: { ...limits, users: 1 } },
  'a later expiry': { ...license, expiresAt: expiresAt?.replace('2126', '2136') },
  'the expiry left out': { ...withoutExpiryAndLimits, limits },
  'the limits left out': { ...withoutExpiryAndLimits, expiresAt },
  'a member more': { ...license, edition: 'pro' },
  'a bit of r flipped': { ...license, signature: flipped(license, 5) },
  'a bit of s flipped': { ...license, signature: flipped(license, 60) },
  'a shorter signature': { ...license, signature: license.signature.slice(0, -4) },
  'a signature of zeros': { ...license, signature: Buffer.alloc(64).toString('base64url') },
  'the signature of another license': { ...license, signature: signed[0]?.signature },
};

const VERIFIERS = { openssl, WebCrypto: webCrypto };

for (const [name, verifier] of Object.entries(VERIFIERS)) {
  const missing = verifier.tools.filter((tool) => !isInstalled(tool));
  const test = missing.length === 0 || process.env['CI'] === 'true' ? it : it.skip;
  const reason = missing.length === 0 ? '' : ` (${missing.join(' and ')} is not installed)`;

  describe(`${name}${reason}`, () => {
    test('verifies every signed license', async () => {
      const verdicts = await verifier.verify(signed.map(jsonOf), publicKeyPem);
      expect(named(names, verdicts)).to.deep.equal(
        named(
          names,
          verdicts.map(() => true),
        ),
      );
    });

    test('verifies a license whose members come in another order', async () => {
      const reversed = Object.fromEntries(Object.entries(license).reverse());
      expect(await verifier.verify([jsonOf(reversed)], publicKeyPem)).to.deep.equal([true]);
    });

    test('rejects every forgery', async () => {
      const forgeries = Object.values(FORGERIES).map(jsonOf);
      const verdicts = await verifier.verify([jsonOf(license), ...forgeries], publicKeyPem);
      const expected = ['the license itself', ...Object.keys(FORGERIES)];
      expect(named(expected, verdicts)).to.deep.equal(named(expected, [true, ...forgeries.map(() => false)]));
    });

    test('rejects what another key signed', async () => {
      const verdicts = await verifier.verify([jsonOf(license)], generateSigningKey().publicKeyPem);
      expect(verdicts).to.deep.equal([false]);
    });
  });
}

function jsonOf(value: object): string {
  return JSON.stringify(value);
}

function named(labels: readonly string[], verdicts: readonly boolean[]): Record<string, boolean | undefined> {
  return Object.fromEntries(labels.map((label, index) => [label, verdicts[index]]));
}

function flipped({ signature }: SignedLicense, byte: number): string {
  const bytes = Buffer.from(signature, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(byte) ^ 1, byte);
  return bytes.toString('base64url');
}
