#!/usr/bin/env node
// Verifies signed licenses offline, with nothing but what every Node.js since 20 and every browser brings (WebCrypto).

const USAGE = `usage: verify-license.mjs LICENSE.json PUBLIC_KEY.pem APP FINGERPRINT [--last-seen TIME]

LICENSE.json holds a license, or the whole answer of an activation. Prints "ok", or why the license is refused; the
exit status is 0 or 1, and 2 if something else is wrong. Key, app and fingerprint are the verifier's own: nothing in
the license is trusted to say them. TIME is the last time that was seen, such as 2026-01-02T03:04:05.678Z.`;

/** `reason` is one of the codes in docs/verifying.md. */
export class LicenseRefused extends Error {
  constructor(reason) {
    super(`the license is refused: ${reason}`);
    this.reason = reason;
  }
}

/**
 * The license, if it is good. Use nothing of the file but what this gives back.
 * `bytes`: the file. `lastSeen`: the latest time that the application has ever seen; keep it, and give it the next time.
 * Throws LicenseRefused.
 */
export async function verifyLicense(bytes, { publicKeyPem, app, fingerprint, now = new Date(), lastSeen }) {
  const { signature, ...license } = readLicense(bytes);
  const signed = canonical(license);
  const key = await importPublicKey(publicKeyPem);

  // The algorithm is the verifier's choice, and so is the key: the license may only agree.
  if (license.alg !== 'ES256') throw new LicenseRefused('wrong_algorithm');
  if (license.kid !== (await thumbprint(key))) throw new LicenseRefused('unknown_key');
  if (!(await isSignature(signature, signed, key))) throw new LicenseRefused('bad_signature');

  if (license.app !== app) throw new LicenseRefused('wrong_app');
  if (license.machineFingerprint !== fingerprint) throw new LicenseRefused('wrong_machine');
  const hasEnd = 'expiresAt' in license || 'leaseExpiresAt' in license;
  if (hasEnd && lastSeen !== undefined && now < lastSeen) throw new LicenseRefused('clock_set_back');
  const isInGrace = license.graceEndsAt !== undefined && !hasPassed(license.graceEndsAt, now);
  if (hasPassed(license.expiresAt, now) && !isInGrace) throw new LicenseRefused('expired');
  if (hasPassed(license.leaseExpiresAt, now)) throw new LicenseRefused('lease_over');
  return license;
}

function readLicense(bytes) {
  try {
    const content = parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    const license = isObject(content) && 'license' in content ? content.license : content;
    if (isObject(license)) return license;
  } catch {}
  throw new LicenseRefused('malformed');
}

/**
 * Takes only what every reader would understand alike. JSON.parse keeps the last of two members of one name, and takes
 * 1e2 for 100: then what it has read, written again, is not the text without its spaces.
 */
function parse(text) {
  const value = JSON.parse(text);
  if (isTooDeep(value)) throw new Error('nested too deeply');
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g);
  const compact = tokens.map((token) => (token[0] === '"' ? compactString(token) : token));
  if (compact.join('') !== JSON.stringify(value)) throw new Error('ambiguous');
  return value;
}

/** Whether objects and lists are nested more than `levels` deep. */
function isTooDeep(value, levels = 64) {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isTooDeep(each, levels - 1));
}

/** Names and values anywhere in the text, the signature among them: JSON.parse takes half a surrogate pair. */
function compactString(token) {
  const string = JSON.parse(token);
  if (!string.isWellFormed()) throw new Error('half a character');
  return JSON.stringify(string);
}

/** The RFC 8785 form of what a license is made of: objects with simple names, lists, strings, integers. Else it is malformed. */
function canonical(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Number.isSafeInteger(value)) return String(value);
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each)).join(',')}]`;
  if (!isObject(value)) throw new LicenseRefused('malformed');
  const members = Object.keys(value)
    .sort()
    .map((name) => {
      if (!/^[A-Za-z][A-Za-z0-9._-]*$/.test(name)) throw new LicenseRefused('malformed');
      return `"${name}":${canonical(value[name])}`;
    });
  return `{${members.join(',')}}`;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether it is one, in the only spelling of its 64 bytes r||s in base64url. */
async function isSignature(signature, text, key) {
  if (typeof signature !== 'string' || !/^[A-Za-z0-9_-]{85}[AQgw]$/.test(signature)) return false;
  const base64 = signature.replaceAll('-', '+').replaceAll('_', '/');
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  return crypto.subtle.verify(algorithm, key, decodeBase64(base64), new TextEncoder().encode(text));
}

/** Compares times, not texts: the text of a year after 9999 sorts before that of an earlier year. */
function hasPassed(time, now) {
  if (time === undefined) return false;
  const isTime = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/.test(time);
  if (typeof time !== 'string' || !isTime) throw new LicenseRefused('malformed');
  const end = Date.parse(time);
  if (Number.isNaN(end)) throw new LicenseRefused('malformed');
  return !(now < end); // an invalid `now` counts as past the end
}

/** SubjectPublicKeyInfo in PEM; any other key than one of P-256 throws. */
function importPublicKey(pem) {
  const spki = decodeBase64(pem.replace(/-----[^-]+-----|\s/g, ''));
  return crypto.subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']);
}

/** The id of a key (RFC 7638). */
async function thumbprint(key) {
  const { x, y } = await crypto.subtle.exportKey('jwk', key);
  const text = new TextEncoder().encode(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text));
  return btoa(String.fromCharCode(...hash))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}

function decodeBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

async function main([licenseFile, publicKeyFile, app, fingerprint, ...rest]) {
  const lastSeen = rest.length === 0 ? undefined : new Date(rest[1]);
  const isUnderstood =
    rest.length === 0 || (rest.length === 2 && rest[0] === '--last-seen' && !Number.isNaN(+lastSeen));
  if (fingerprint === undefined || !isUnderstood) {
    console.error(USAGE);
    return 2;
  }
  const { readFile } = await import('node:fs/promises');
  try {
    const publicKeyPem = await readFile(publicKeyFile, 'utf8');
    await verifyLicense(await readFile(licenseFile), { publicKeyPem, app, fingerprint, lastSeen });
    console.log('ok');
    return 0;
  } catch (error) {
    if (!(error instanceof LicenseRefused)) {
      console.error(error.message);
      return 2;
    }
    console.log(error.reason);
    return 1;
  }
}

if (globalThis.process?.argv[1]?.endsWith('verify-license.mjs'))
  process.exitCode = await main(process.argv.slice(2));
