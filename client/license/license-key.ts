// Compares and hashes license keys.
import { encodeBase64url } from './base64url.ts';
import { sha256 } from './public-key.ts';

/** Ignores case, spaces and dashes, and reads O, I and L as 0, 1 and 1. */
export function isSameKey(one: string, other: string): boolean {
  return normalizeKey(one) === normalizeKey(other);
}

/** Identifies a key that is not stored. A key has 120 random bits, so the hash does not reveal it. */
export async function hashOfKey(licenseKey: string): Promise<string> {
  return encodeBase64url(new Uint8Array(await sha256(`hubctl-license-key\n${normalizeKey(licenseKey)}`)));
}

export async function isKeyOf(
  kept: { readonly licenseKey?: string; readonly licenseKeyHash?: string },
  licenseKey: string,
): Promise<boolean> {
  if (kept.licenseKey !== undefined) return isSameKey(kept.licenseKey, licenseKey);
  return kept.licenseKeyHash === (await hashOfKey(licenseKey));
}

function normalizeKey(licenseKey: string): string {
  return licenseKey
    .replace(/[^0-9A-Za-z]/g, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}
