// Fetches a signed license or a public key from the hub and verifies it.

import type { Signal } from '../abort-signal.ts';
import { LicenseError } from '../errors.ts';
import { type PublicPoint, pointOfPem, thumbprintOf } from '../license/public-key.ts';
import { type Expected, type VerifiedLicense, verifyLicense } from '../license/verify-license.ts';
import type { HubCalls } from './hub-calls.ts';

/**
 * Activates with a license key and verifies the license. The response's public key must be the signing key, which must
 * be pinned. Rejects with LicenseError.
 */
export async function obtainLicense(
  calls: HubCalls,
  expected: Expected,
  licenseKey: string,
  signal?: Signal,
): Promise<VerifiedLicense> {
  const { license, publicKeyPem } = await calls.activate(licenseKey, signal);
  const offered = await pointOfPem(publicKeyPem).catch(() => undefined);
  const verified = await verifyLicense(license, expected, offered);
  if (offered !== undefined && (await thumbprintOf(offered)) === verified.license.kid) return verified;
  throw new LicenseError('untrusted_key', 'the public key in the response did not sign the license');
}

/** Fetches the public key with this id. Rejects with LicenseError `key_missing` if the hub does not publish it. */
export async function fetchKey(calls: HubCalls, kid: string, signal?: Signal): Promise<PublicPoint> {
  for (const point of await calls.keys(signal)) {
    if ((await thumbprintOf(point)) === kid) return point;
  }
  throw new LicenseError('key_missing', `the hub does not publish the key ${kid}`);
}
