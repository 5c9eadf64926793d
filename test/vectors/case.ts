// A case of the test vectors: the input of a verifier, and the expected result.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import canonicalize from 'canonicalize';
import { thumbprint } from '../../core/license/keys/signing-key-pair.ts';

/** What a verifier says, in the order in which it looks. */
export type Verdict =
  | 'ok'
  | 'malformed'
  | 'wrong_algorithm'
  | 'unknown_key'
  | 'bad_signature'
  | 'wrong_app'
  | 'wrong_machine'
  | 'clock_set_back'
  | 'expired'
  | 'lease_over';

export type Case = {
  readonly name: string;
  /** What the case shows. */
  readonly about: string;
  readonly expected: Verdict;
  /** As it lies in the file. */
  readonly license: string | Uint8Array;
  /** The key that is built into the application, `OUR_KEY` by default. */
  readonly key?: TestKey;
  readonly app?: string;
  readonly fingerprint?: string;
  readonly now?: string;
  readonly lastSeen?: string;
};

export type TestKey = {
  readonly kid: string;
  readonly publicKeyPem: string;
  readonly privateKey: KeyObject;
  readonly secret: Uint8Array;
};

/** Anybody can make these keys: they are hashes of a phrase. */
async function keyOf(phrase: string): Promise<TestKey> {
  const secret = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(phrase)));
  const [x, y] = [p256.getPublicKey(secret, false).slice(1, 33), p256.getPublicKey(secret, false).slice(33)];
  const jwk = { kty: 'EC', crv: 'P-256', x: base64url(x), y: base64url(y), d: base64url(secret) };
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  const publicKey = createPublicKey(privateKey);
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { kid: thumbprint(publicKey), publicKeyPem, privateKey, secret };
}

export const OUR_KEY = await keyOf('license vectors: the key of the application');
export const OTHER_KEY = await keyOf('license vectors: the key of somebody else');

export const APP = 'photo-lab';
export const FINGERPRINT = 'sha256:9f86d081884c7d659a2feaa0c55ad015';
export const NOW = '2026-06-01T12:00:00.000Z';

/** The content of a license without any optional member, as an older hub signs it. */
export const PLAIN = {
  licenseId: 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz',
  app: APP,
  seatId: 'seat_01k8e7r2m4e0mvp3c9h7n5q1as',
  machineFingerprint: FINGERPRINT,
  issuedAt: '2026-05-31T08:15:30.123Z',
  kid: OUR_KEY.kid,
  alg: 'ES256',
} as const;

/** The content of a license with every optional member. */
export const FULL = {
  ...PLAIN,
  customer: 'Ada Lovelace',
  limits: { projects: 3, exports: -1 },
  features: ['export', 'sync'],
  metadata: { plan: 'pro', region: 'EU' },
  termsVersion: 2,
  expiresAt: '2027-06-01T00:00:00.000Z',
  graceEndsAt: '2027-06-15T00:00:00.000Z',
  leaseExpiresAt: '2026-06-30T08:15:30.123Z',
} as const;

/** Signs whatever it is given, as long as it has an RFC 8785 form. Deterministic (RFC 6979). */
export function signed<Content extends object>(
  content: Content,
  key: TestKey = OUR_KEY,
): Content & { readonly signature: string } {
  const message = new TextEncoder().encode(canonicalize(content));
  return { ...content, signature: base64url(p256.sign(message, key.secret, { lowS: false })) };
}

/** A license that is signed by chance with such a signature. */
export function signedSuchThat(isSuch: (signature: Buffer) => boolean): ReturnType<typeof signed> {
  for (let number = 1; ; number++) {
    const license = signed({ ...PLAIN, customer: `Customer ${number}` });
    if (isSuch(Buffer.from(license.signature, 'base64url'))) return license;
  }
}

/** The text of a signed license. */
export function textOf(content: object, key?: TestKey): string {
  return JSON.stringify(signed(content, key));
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
