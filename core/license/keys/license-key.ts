// License keys: derivation, normalization of typed keys, and the hash that is stored.
import { createHmac, hash, type KeyObject } from 'node:crypto';
import { HubError } from '../../errors.ts';

/** Crockford's base32: no I, L, O or U. The index of a symbol is its value. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const KEY_SYMBOLS = 24;
/** Separates this use of a secret from any other. */
const DERIVED_FOR = 'hub license key\0';
const UUID_BYTES = 16;
/** Symbols between two dashes. */
const GROUP = 5;
const KEY = /^[0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * The license key of a license: HMAC-SHA-256 (RFC 2104) under a derivation secret, over the UUID of the
 * license and its key generation.
 *
 * @param licenseId UUID
 * @param generation counts the keys of the license, from 1
 */
export function deriveLicenseKey(secret: KeyObject, licenseId: string, generation: number): string {
  const message = Buffer.alloc(UUID_BYTES + 4);
  message.write(licenseId.replaceAll('-', ''), 'hex');
  message.writeUInt32BE(generation, UUID_BYTES);
  return formatLicenseKey(createHmac('sha256', secret).update(DERIVED_FOR).update(message).digest());
}

/**
 * The license key of 24 bytes: five groups of five upper-case symbols, joined by dashes. The last symbol is
 * the check symbol. Each other symbol is the low five bits of a byte.
 */
export function formatLicenseKey(bytes: Uint8Array): string {
  let key = '';
  let sum = 0;
  for (let place = 0; place < KEY_SYMBOLS; place++) {
    const value = (bytes[place] ?? 0) & 31;
    if (place > 0 && place % GROUP === 0) key += '-';
    key += ALPHABET.charAt(value);
    sum = timesX(sum ^ value);
  }
  return key + ALPHABET.charAt(sum);
}

/**
 * Returns the 25 symbols of a typed license key. Ignores case, white space and all kinds of dashes; reads O
 * as 0, I and L as 1. Undefined if the text has the wrong length, a symbol outside the alphabet, or a wrong
 * check symbol.
 */
export function normalizeLicenseKey(text: string): string | undefined {
  const symbols = text.replace(/[\s\p{Dash_Punctuation}]/gu, '');
  // Before toUpperCase, which turns letters such as a dotless i into ASCII letters.
  if (!/^[0-9A-Za-z]{25}$/.test(symbols)) return undefined;
  const key = symbols.toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1');
  return KEY.test(key) && checkSymbol(key.slice(0, KEY_SYMBOLS)) === key.at(-1) ? key : undefined;
}

export const HASH_BYTES = 32;

/** SHA-256 of the 25 symbols, 32 bytes: the stored form of a key, and the one to look it up by. */
export function hashLicenseKey(normalized: string): Buffer {
  return hash('sha256', normalized, 'buffer');
}

/** The error for a typed key that no license has. */
export function licenseKeyUnknown(licenseKey: string): HubError {
  const message =
    normalizeLicenseKey(licenseKey) === undefined
      ? 'this is not a license key; check it for typing errors'
      : 'no license has this key';
  return new HubError('license_key_unknown', message, { field: 'licenseKey' });
}

/** The columns of a license that a key determines. */
export function keyColumns(licenseKey: string): { readonly keyHash: Buffer; readonly keyHint: string } {
  const normalized = licenseKey.replaceAll('-', '');
  return { keyHash: hashLicenseKey(normalized), keyHint: licenseKeyHint(normalized) };
}

/** The last five symbols, which identify a license to people. */
export function licenseKeyHint(normalized: string): string {
  return normalized.slice(-5);
}

/**
 * The symbol that makes the sum of (value × weight) over all 25 symbols zero in GF(32) = GF(2)[x]/(x^5 + x^2
 * + 1), with the weights x^24 … x^0. x has order 31, so the weights are distinct and nonzero: any single
 * wrong symbol and any swap of two different symbols changes the sum.
 */
function checkSymbol(symbols: string): string {
  let sum = 0;
  for (const symbol of symbols) sum = timesX(sum ^ ALPHABET.indexOf(symbol));
  return ALPHABET.charAt(sum);
}

function timesX(element: number): number {
  const product = element << 1;
  return product < 32 ? product : product ^ 0b100101;
}
