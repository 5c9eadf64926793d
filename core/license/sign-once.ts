// Signs what is the same only once: a machine that asks several times in one tick gets one copy.
import type { KeyObject } from 'node:crypto';
import { type LicenseContent, type SignedLicense, signLicense } from './signed-license.ts';

type Copy = { readonly content: string; readonly license: Promise<SignedLicense> };

/** Contents differ from one millisecond to the next, since they say when they were issued. */
const MAX_COPIES = 1_000;

/** Makes a `signLicense` that remembers the last copy of each seat, as long as the content is the same. */
export function createSignOnce(): typeof signLicense {
  const copies = new Map<string, Copy>();
  return (content: LicenseContent, privateKey: KeyObject) => {
    const text = JSON.stringify(content);
    const known = copies.get(content.seatId);
    if (known?.content === text) return known.license;
    const license = signLicense(content, privateKey);
    if (copies.size >= MAX_COPIES) copies.clear();
    copies.set(content.seatId, { content: text, license });
    license.catch(() => copies.delete(content.seatId));
    return license;
  };
}
