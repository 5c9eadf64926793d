#!/usr/bin/env node
// Verifies signed licenses offline, with nothing but what every Node.js since 20 and every browser brings (WebCrypto).
import { readFileSync } from 'node:fs';

const USAGE = `usage: verify-license.mjs PUBLIC_KEY.pem APP MACHINE_FINGERPRINT LICENSE.json...

Each file holds a license, or the whole answer of an activation. Prints "FILE: ok" or "FILE: bad: REASON" for each;
the exit status is 1 if any of them is bad. The public key, the app and the fingerprint are the verifier's own:
nothing in the license is trusted to say them.`;

const [publicKeyFile, app, fingerprint, ...files] = process.argv.slice(2);
if (files.length === 0) {
  console.error(USAGE);
  process.exit(2);
}
const key = await importPublicKey(readFileSync(publicKeyFile, 'utf8'));
for (const file of files) {
  const problem = await verify(readFileSync(file, 'utf8')).catch((error) => error.message);
  console.log(problem === undefined ? `${file}: ok` : `${file}: bad: ${problem}`);
  if (problem !== undefined) process.exitCode = 1;
}

/** What is wrong with a license, or undefined. */
async function verify(text) {
  const content = JSON.parse(text);
  const { signature, ...license } = content.license ?? content;
  if (license.alg !== 'ES256') return 'unknown algorithm';
  if (license.app !== app) return 'for another app';
  if (license.machineFingerprint !== fingerprint) return 'for another machine';
  const bytes = Buffer.from(String(signature), 'base64url');
  if (bytes.length !== 64 || bytes.toString('base64url') !== signature) {
    return 'the signature is not 64 bytes in base64url';
  }
  const message = new TextEncoder().encode(canonical(license));
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  if (!(await crypto.subtle.verify(algorithm, key, bytes, message))) return 'the signature does not match';
  for (const end of ['expiresAt', 'leaseExpiresAt']) {
    // RFC 3339 in UTC with milliseconds, so that the order of the texts is the order of the times.
    if (license[end] !== undefined && license[end] <= new Date().toISOString()) return `${end} has passed`;
  }
  return undefined;
}

/** The RFC 8785 form of a value made of objects, strings and integers. */
function canonical(value) {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const members = Object.keys(value).sort(); // by UTF-16 code units, as RFC 8785 asks
    return `{${members.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(',')}}`;
  }
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  if (Number.isSafeInteger(value)) return String(value);
  throw new Error('a license holds objects, strings and integers only');
}

function importPublicKey(pem) {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  return crypto.subtle.importKey('spki', der, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
}
