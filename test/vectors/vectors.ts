// The test vectors, in the form in which they are published.
import canonicalize from 'canonicalize';
import { APP, type Case, FINGERPRINT, NOW, OUR_KEY, type Verdict } from './case.ts';
import { FORGED } from './forged.ts';
import { GOOD } from './good.ts';
import { MALFORMED } from './malformed.ts';
import { REFUSED } from './refused.ts';

export const VECTORS_FILE = new URL('vectors.json', import.meta.url);

/** A member of the array in vectors.json; README.md describes it. */
export type Vector = {
  readonly name: string;
  readonly about: string;
  readonly expected: Verdict;
  readonly license?: string;
  readonly licenseBase64?: string;
  readonly canonical?: string;
  readonly publicKeyPem: string;
  readonly kid: string;
  readonly app: string;
  readonly fingerprint: string;
  readonly now: string;
  readonly lastSeen?: string;
};

export const CASES: readonly Case[] = [...GOOD, ...REFUSED, ...FORGED, ...MALFORMED];

/** In ASCII, so that no editor and no reader changes or hides a character. */
export function vectorsText(): string {
  const text = JSON.stringify(CASES.map(vectorOf), null, 2);
  return `${text.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}

function vectorOf({ name, about, expected, license, ...given }: Case): Vector {
  const key = given.key ?? OUR_KEY;
  return {
    name,
    about,
    expected,
    ...(typeof license === 'string'
      ? { license }
      : { licenseBase64: Buffer.from(license).toString('base64') }),
    ...(expected === 'ok' && typeof license === 'string' && { canonical: canonicalOf(license) }),
    publicKeyPem: key.publicKeyPem,
    kid: key.kid,
    app: given.app ?? APP,
    fingerprint: given.fingerprint ?? FINGERPRINT,
    now: given.now ?? NOW,
    ...(given.lastSeen !== undefined && { lastSeen: given.lastSeen }),
  };
}

/** The bytes that were signed, as text. */
export function canonicalOf(text: string): string {
  const content = JSON.parse(text);
  const { signature: _, ...unsigned } = content.license ?? content;
  const canonical = canonicalize(unsigned);
  if (canonical === undefined) throw new Error('no JSON');
  return canonical;
}
