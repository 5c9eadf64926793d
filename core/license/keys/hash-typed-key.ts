// The hashes by which the license of a typed key is found, and the stored form of imported keys.
//
// An imported key is hashed with a secret (HMAC-SHA-256), because a key of another system may be so short
// that it could be guessed from a plain hash. The key is first converted to upper case, without spaces and
// dashes, so that users can type it in any usual way. A key with both upper-case and lower-case letters is
// not converted, because two keys may differ in case only. A key in the form of the hub's own keys, with a
// correct check symbol, is stored like the hub's own keys: the hub then looks up a typed key of that form by
// one hash only.
import { createHmac, type KeyObject } from 'node:crypto';
import type { ImportPepper } from './import-pepper.ts';
import { hashLicenseKey, licenseKeyHint, normalizeLicenseKey } from './license-key.ts';

/**
 * The hashes that a typed key can be stored under, the likeliest first. Empty if the text cannot be a key.
 */
export type HashTypedKey = (licenseKey: string) => Promise<readonly Buffer[]>;

export function createHashTypedKey(pepper: Pick<ImportPepper, 'find'>): HashTypedKey {
  return async (licenseKey) => {
    const normalized = normalizeLicenseKey(licenseKey);
    if (normalized !== undefined) return [hashLicenseKey(normalized)];
    const exact = licenseKey.trim();
    const folded = foldKey(licenseKey);
    const possible = isCaseSensitive(exact) ? [exact, folded] : [folded];
    const forms = possible.filter((form) => PRINTABLE_ASCII.test(form));
    if (forms.length === 0) return [];
    const secret = await pepper.find();
    return secret === undefined ? [] : forms.map((form) => hmac(secret, form));
  };
}

/** How the database stores an imported key: its hash, and the symbols that identify it to people. */
export function storedForm(
  licenseKey: string,
  pepper: KeyObject,
): { readonly keyHash: Buffer; readonly keyHint: string } {
  const normalized = normalizeLicenseKey(licenseKey);
  if (normalized !== undefined) {
    return { keyHash: hashLicenseKey(normalized), keyHint: licenseKeyHint(normalized) };
  }
  const exact = licenseKey.trim();
  return {
    keyHash: hmac(pepper, isCaseSensitive(exact) ? exact : foldKey(exact)),
    keyHint: importedKeyHint(exact),
  };
}

/** Whether the key has both upper-case and lower-case letters. */
function isCaseSensitive(licenseKey: string): boolean {
  return /[a-z]/.test(licenseKey) && /[A-Z]/.test(licenseKey);
}

/** Whether anything of the key is left without its spaces and dashes. */
export function hasSymbols(licenseKey: string): boolean {
  return foldKey(licenseKey) !== '';
}

/** The key in upper case, without spaces and dashes of any kind. */
function foldKey(text: string): string {
  const symbols = text.replace(/[\s\p{Dash_Punctuation}]/gu, '');
  // toUpperCase turns letters such as a dotless i into ASCII letters.
  return PRINTABLE_ASCII.test(symbols) ? symbols.toUpperCase() : '';
}

const PRINTABLE_ASCII = /^[ -~]+$/;

function hmac(secret: KeyObject, form: string): Buffer {
  return createHmac('sha256', secret).update(form).digest();
}

const HINT_SYMBOLS = 5;
/** From this length on the hint leaves enough of the key unknown. */
const LONG_KEY = 16;

/** The last five letters and digits; of a key with fewer than 16 characters, at most a quarter of them. */
function importedKeyHint(licenseKey: string): string {
  const symbols = licenseKey.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
  const shown = licenseKey.length >= LONG_KEY ? HINT_SYMBOLS : Math.floor(symbols.length / 4);
  return shown === 0 ? '' : symbols.slice(-shown);
}
