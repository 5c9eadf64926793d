// Asks the hub for a license, and takes it only if it verifies.
import { LicenseError } from './errors.ts';
import type { HubCalls } from './hub-calls.ts';
import { type PublicPoint, pointOfPem, thumbprintOf } from './public-key.ts';
import type { Signal } from './signal.ts';
import { type Expected, type VerifiedLicense, verifyLicense } from './verify-license.ts';

/**
 * Activates with a license key. The key that comes along is only compared: with the id of the one that signed, and
 * through that with what is built in. Rejects with LicenseError.
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
  throw new LicenseError('untrusted_key', 'the key that the hub sent is not the one that signed the license');
}

/** The key with this id from the app's published set. Rejects with LicenseError `key_missing` if it is not in there. */
export async function fetchKey(calls: HubCalls, kid: string, signal?: Signal): Promise<PublicPoint> {
  for (const point of await calls.keys(signal)) {
    if ((await thumbprintOf(point)) === kid) return point;
  }
  throw new LicenseError('key_missing', `the hub does not publish the key ${kid}`);
}
