// Verifies everything in a signed license that is not a matter of time.
import { decodeBase64url } from './base64url.ts';
import { canonicalForm } from './canonical-form.ts';
import { LicenseError } from './errors.ts';
import { parseInstant } from './instant.ts';
import { readLimits } from './limits.ts';
import type { PublicPoint } from './public-key.ts';
import type { SignedLicense } from './signed-license.ts';
import { isJsonObject, type JsonObject } from './strict-json.ts';
import type { TrustAnchor } from './trust-anchor.ts';

/** What the verifier knows by itself; nothing in the license is trusted to say it. */
export type Expected = {
  readonly app: string;
  readonly machineFingerprint: string;
  readonly trust: TrustAnchor;
};

/** A license whose signature, app and machine are right, and the key that shows it. */
export type VerifiedLicense = { readonly license: SignedLicense; readonly point: PublicPoint };

/**
 * Verifies what does not change with time, in the order of docs/verifying.md: what is said of a license beyond its
 * signature is said once that is known to be good. `offered` is the key that came along, if one did: see TrustAnchor.
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
  if (message === undefined) throw malformed('there is more in it than objects, texts and integers');
  if (signed['alg'] !== 'ES256')
    throw new LicenseError('wrong_algorithm', 'the license is not signed with ES256');
  const { isSigned, point } = await trust.key(signed['kid'], offered);
  const bytes = typeof signature === 'string' ? decodeBase64url(signature) : undefined;
  if (bytes?.length !== SIGNATURE_BYTES || !(await isSigned(bytes, message))) {
    throw new LicenseError('bad_signature', 'the signature of the license does not match');
  }
  if (signed['app'] !== app) throw new LicenseError('wrong_app', 'the license is for another app');
  if (signed['machineFingerprint'] !== machineFingerprint) {
    throw new LicenseError('wrong_machine', 'the license is for another machine');
  }
  checkMembers(value);
  const license = value as SignedLicense; // each of its members was looked at
  Object.freeze(license.limits);
  return { license: Object.freeze(license), point };
}

const SIGNATURE_BYTES = 64;
const TEXTS = ['licenseId', 'seatId', 'issuedAt'];
const OPTIONAL_TEXTS = ['customer', 'expiresAt', 'leaseExpiresAt'];
const TIMES = ['issuedAt', 'expiresAt', 'leaseExpiresAt'];

/** Members that are not known are let through: a later hub may sign more. */
function checkMembers(license: JsonObject): void {
  const given = (name: string): boolean => Object.hasOwn(license, name);
  for (const name of [...TEXTS, ...OPTIONAL_TEXTS.filter(given)]) {
    if (typeof license[name] !== 'string') throw malformed(`${name} is not a text`);
  }
  for (const name of TIMES.filter(given)) {
    if (parseInstant(license[name]) === undefined) throw malformed(`${name} is not a time`);
  }
  if (given('limits') && readLimits(license['limits']) === undefined) {
    throw malformed('limits are not integers by name');
  }
}

function malformed(what: string): LicenseError {
  return new LicenseError('license_malformed', `not a signed license: ${what}`);
}
