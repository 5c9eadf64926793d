// Licenses that were altered after they were signed, or signed by someone else.
import { p256 } from '@noble/curves/nist.js';
import {
  base64url,
  type Case,
  FULL,
  NOW,
  OTHER_KEY,
  signed,
  signedSuchThat,
  textOf,
  type Verdict,
} from './case.ts';

const license = signed(FULL);
const bytes = Buffer.from(license.signature, 'base64url');
const { signature: _, ...unsigned } = license;
const ORDER = Buffer.from(p256.Point.Fn.ORDER.toString(16), 'hex');
const ZERO = Buffer.alloc(32);

const MEMBERS = Object.keys(FULL) as (keyof typeof FULL)[];

/** What is said of a license without a member, if not that the signature does not match. */
const REMOVED: Readonly<Partial<Record<keyof typeof FULL, Verdict>>> = {
  alg: 'wrong_algorithm',
  kid: 'unknown_key',
};

export const FORGED: readonly Case[] = [
  changed('license-id', 'another license', { licenseId: 'lic_01k8e7qk3vf2tb5s0w9m4x6ydy' }),
  changed('seat-id', 'another seat', { seatId: 'seat_01k8e7r2m4e0mvp3c9h7n5q1at' }),
  changed('customer', 'another customer', { customer: 'Eve' }),
  changed('customer-added', 'a customer', { customer: 'Eve' }, without('customer')),
  changed(
    'customer-unicode',
    'a customer, to another form of the same text',
    { customer: '\u00e9' },
    {
      ...FULL,
      customer: 'e\u0301',
    },
  ),
  changed('limit-raised', 'a limit, to unlimited', { limits: { projects: -1, exports: -1 } }),
  changed('limit-added', 'a limit more', { limits: { ...FULL.limits, users: 1 } }),
  changed('limit-text', 'a limit, to text', { limits: { ...FULL.limits, projects: '3' } }),
  changed('limits-empty', 'the limits, to none', { limits: {} }),
  changed('issued', 'the time of issue', { issuedAt: NOW }),
  changed('expires', 'the expiry', { expiresAt: '2037-06-01T00:00:00.000Z' }),
  changed('lease', 'the lease', { leaseExpiresAt: '2037-06-01T00:00:00.000Z' }),
  changed('extra', 'a member that nobody signed', { edition: 'pro' }),
  changed(
    'app',
    "another app's license, made to name this app",
    { app: FULL.app },
    { ...FULL, app: 'paintbox' },
  ),
  changed(
    'machine',
    "another machine's license, made to name this one",
    {
      machineFingerprint: FULL.machineFingerprint,
    },
    { ...FULL, machineFingerprint: 'another machine' },
  ),

  ...MEMBERS.map((member) => ({
    ...forged(`removed-${member}`, `${member} left out`, {
      ...without(member),
      signature: license.signature,
    }),
    expected: REMOVED[member] ?? 'bad_signature',
  })),

  forged('signature-missing', 'no signature', unsigned),
  forged('signature-number', 'a signature that is a number', { ...unsigned, signature: 0 }),
  forged('signature-empty', 'an empty signature', { ...unsigned, signature: '' }),
  withBytes('signature-r-flipped', 'a bit of r flipped', flipped(5)),
  withBytes('signature-s-flipped', 'a bit of s flipped', flipped(60)),
  withBytes('signature-swapped', 's and r, in this order', halves(bytes.subarray(32), bytes.subarray(0, 32))),
  withBytes('signature-63-bytes', '63 bytes', bytes.subarray(0, 63)),
  withBytes('signature-65-bytes', '65 bytes', Buffer.concat([bytes, Buffer.alloc(1)])),
  withBytes('signature-der', 'in DER rather than r and s', p256.Signature.fromBytes(bytes).toBytes('der')),
  withBytes('signature-zeros', 'r and s are 0, which Java 15 to 18 took for good once', halves(ZERO, ZERO)),
  withBytes('signature-r-zero', 'r is 0', halves(ZERO, bytes.subarray(32))),
  withBytes('signature-s-zero', 's is 0', halves(bytes.subarray(0, 32), ZERO)),
  withBytes('signature-r-order', 'r is the order of the curve', halves(ORDER, bytes.subarray(32))),
  withBytes('signature-s-order', 's is the order of the curve', halves(bytes.subarray(0, 32), ORDER)),
  withText('signature-padding', 'base64 with padding', `${license.signature}==`),
  forged('signature-alphabet', 'the standard alphabet of base64', inStandardAlphabet()),
  withText('signature-stray-bits', 'bits set in the last character that are not used', strayBits()),
  withText(
    'signature-space',
    'a line break within',
    `${license.signature.slice(0, 43)}\n${license.signature.slice(43)}`,
  ),
  withText('signature-hex', 'in hexadecimal', bytes.toString('hex')),
  withText(
    'signature-of-another',
    "another license's signature",
    signed({ ...FULL, customer: 'Eve' }).signature,
  ),

  {
    ...signedBy('key-unknown', 'signed with a key that this verifier does not have', { kid: OTHER_KEY.kid }),
    expected: 'unknown_key',
  },
  signedBy('key-wrong', "signed with another key, in this key's name", {}),
  forged('key-in-answer', 'the answer of a false hub, with its own key beside the license', {
    ok: true,
    license: signed(FULL, OTHER_KEY),
    publicKeyPem: OTHER_KEY.publicKeyPem,
  }),
  {
    ...forged('key-rotated', 'a good license, but the verifier has another key', license),
    key: OTHER_KEY,
    expected: 'unknown_key',
  },
  {
    ...forged(
      'kid-wrong',
      "signed with this key, in another's name",
      signed({ ...FULL, kid: OTHER_KEY.kid }),
    ),
    expected: 'unknown_key',
  },

  algorithm('es512', 'ES512'),
  algorithm('lower-case', 'es256'),
  algorithm('hs256', 'HS256'),
  algorithm('none', 'none'),
  algorithm('empty', ''),
  algorithm('number', 256),
];

function forged(name: string, about: string, license: object): Case {
  return { name, about, expected: 'bad_signature', license: JSON.stringify(license) };
}

/** Signed with another key than the verifier's. */
function signedBy(name: string, about: string, members: object): Case {
  return forged(name, about, signed({ ...FULL, ...members }, OTHER_KEY));
}

/** Signed as ES256 is, with the right key. */
function algorithm(name: string, alg: string | number): Case {
  const about = `the algorithm is ${JSON.stringify(alg)}, though the signature matches`;
  return { name: `algorithm-${name}`, about, expected: 'wrong_algorithm', license: textOf({ ...FULL, alg }) };
}

/** What was signed, with the members changed. */
function changed(name: string, what: string, members: object, original: object = FULL): Case {
  return forged(`changed-${name}`, `changed: ${what}`, { ...signed(original), ...members });
}

function without(member: keyof typeof FULL): object {
  return Object.fromEntries(Object.entries(FULL).filter(([name]) => name !== member));
}

function withText(name: string, about: string, signature: string): Case {
  return forged(name, about, { ...unsigned, signature });
}

function withBytes(name: string, about: string, signature: Uint8Array): Case {
  return withText(name, about, base64url(signature));
}

function halves(r: Uint8Array, s: Uint8Array): Uint8Array {
  return Buffer.concat([r, s]);
}

function flipped(byte: number): Uint8Array {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(byte) ^ 1, byte);
  return copy;
}

function inStandardAlphabet(): object {
  const license = signedSuchThat((signature) => /\/.*[+]/.test(signature.toString('base64')));
  const signature = Buffer.from(license.signature, 'base64url').toString('base64').replaceAll('=', '');
  return { ...license, signature };
}

/** 64 bytes leave four bits of the last of 86 characters unused. */
function strayBits(): string {
  const next = { A: 'B', Q: 'R', g: 'h', w: 'x' }[license.signature.slice(-1)];
  if (next === undefined) throw new Error('not 64 bytes in base64url');
  return license.signature.slice(0, -1) + next;
}
