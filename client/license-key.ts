// License keys, as far as a client looks at them.
import { encodeBase64url } from './base64url.ts';
import { sha256 } from './public-key.ts';

/** Whether two typings are of one key: case, spaces and dashes do not matter; O, I and L are read as 0, 1 and 1. */
export function isSameKey(one: string, other: string): boolean {
  return bare(one) === bare(other);
}

/** By it a key can be recognized that was not kept. It gives nothing away: a key has 120 random bits. */
export async function hashOfKey(licenseKey: string): Promise<string> {
  return encodeBase64url(new Uint8Array(await sha256(`hubctl-license-key\n${bare(licenseKey)}`)));
}

/** Whether a license was activated with this key, however that is typed. */
export async function isKeyOf(
  kept: { readonly licenseKey?: string; readonly licenseKeyHash?: string },
  licenseKey: string,
): Promise<boolean> {
  if (kept.licenseKey !== undefined) return isSameKey(kept.licenseKey, licenseKey);
  return kept.licenseKeyHash === (await hashOfKey(licenseKey));
}

function bare(licenseKey: string): string {
  return licenseKey
    .replace(/[^0-9A-Za-z]/g, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}
