// Verifies a signed license, except for its expiry and lease.

import { LicenseError } from '../errors.ts';
import { decodeBase64url } from './base64url.ts';
import { canonicalForm } from './canonical-form.ts';
import { readLimits } from './limits.ts';
import type { PublicPoint } from './public-key.ts';
import { parseRfc3339 } from './rfc3339.ts';
import type { Metadata, SignedLicense } from './signed-license.ts';
import { isJsonObject, isTexts, type JsonObject } from './strict-json.ts';
import type { TrustAnchor } from './trust-anchor.ts';

/** What a valid license must match. */
export type Expected = {
  readonly app: string;
  readonly machineFingerprint: string;
  readonly trust: TrustAnchor;
};

/** A license with a valid signature, app and machine, and the key that verified it. */
export type VerifiedLicense = { readonly license: SignedLicense; readonly point: PublicPoint };

/**
 * Verifies in the order of docs/verifying.md: the signature first, so that later errors concern an authentic license.
 * `offered` is the public key of the response or record: see TrustAnchor.
 * Rejects with LicenseError `license_malformed`, `wrong_algorithm`, `untrusted_key`, `key_missing`, `bad_signature`,
 * `wrong_app` or `wrong_machine`.
 */
export async function verifyLicense(
  value: unknown,
  { app, machineFingerprint, trust }: Expected,
  offered?: PublicPoint,
): Promise<VerifiedLicense> {
  if (!isJsonObject(value)) throw malformed('it is not an object');
  const { signature, ...signed } = value;
  const message = canonicalForm(signed);
  if (message === undefined) throw malformed('it has values other than objects, lists, strings and integers');
  if (signed['alg'] !== 'ES256')
    throw new LicenseError('wrong_algorithm', 'the license is not signed with ES256');
  const { verifySignature, point } = await trust.key(signed['kid'], offered);
  const bytes = typeof signature === 'string' ? decodeBase64url(signature, SIGNATURE_BYTES) : undefined;
  if (bytes === undefined || !(await verifySignature(bytes, message))) {
    throw new LicenseError('bad_signature', 'the signature of the license does not match');
  }
  if (signed['app'] !== app) throw new LicenseError('wrong_app', 'the license is for another app');
  if (signed['machineFingerprint'] !== machineFingerprint) {
    throw new LicenseError('wrong_machine', 'the license is for another machine');
  }
  checkMembers(value);
  return { license: withMethods(value), point };
}

/** Freezes the license. `checkMembers` has checked each member. */
function withMethods(value: JsonObject): SignedLicense {
  const features = value['features'] as readonly string[] | undefined;
  for (const member of [features, value['limits'], value['metadata']]) Object.freeze(member);
  const has = (feature: string): boolean => features?.includes(feature) ?? false;
  return Object.freeze(
    Object.defineProperty({ ...value }, 'has', { value: has, enumerable: false }),
  ) as SignedLicense;
}

const SIGNATURE_BYTES = 64;
const OPTIONAL_TIMES = ['expiresAt', 'graceEndsAt', 'leaseExpiresAt'];

/** Accepts unknown members, because a later hub may sign more. */
function checkMembers(license: JsonObject): void {
  const given = (name: string): boolean => Object.hasOwn(license, name);
  for (const name of ['licenseId', 'seatId', ...['customer'].filter(given)]) {
    if (typeof license[name] !== 'string') throw malformed(`${name} is not a string`);
  }
  for (const name of ['issuedAt', ...OPTIONAL_TIMES.filter(given)]) {
    if (parseRfc3339(license[name]) === undefined) throw malformed(`${name} is not a timestamp`);
  }
  if (given('limits') && readLimits(license['limits']) === undefined) {
    throw malformed('limits are not named integers');
  }
  if (given('features') && !isTexts(license['features']))
    throw malformed('features are not a list of strings');
  if (given('metadata') && !isMetadata(license['metadata']))
    throw malformed('metadata are not named strings');
  if (given('termsVersion') && !Number.isSafeInteger(license['termsVersion'])) {
    throw malformed('termsVersion is not an integer');
  }
}

function isMetadata(value: unknown): value is Metadata {
  return isJsonObject(value) && isTexts(Object.values(value));
}

function malformed(what: string): LicenseError {
  return new LicenseError('license_malformed', `not a signed license: ${what}`);
}
