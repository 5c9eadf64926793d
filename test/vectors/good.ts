// Licenses that verify.
import { p256 } from '@noble/curves/nist.js';
import { base64url, type Case, FULL, NOW, PLAIN, signed, signedSuchThat, textOf } from './case.ts';

const license = signed(FULL);

export const GOOD: readonly Case[] = [
  good('good-full', 'every optional member is there', JSON.stringify(license)),
  good('good-plain', 'no optional member is there', textOf(PLAIN)),
  good('good-customer', 'a customer alone', textOf({ ...PLAIN, customer: FULL.customer })),
  good('good-limits', 'limits alone: -1 is unlimited, 0 is none', withLimits({ users: -1, exports: 0 })),
  good('good-limits-empty', 'limits that name none', withLimits({})),
  good('good-expires', 'an expiry alone', textOf({ ...PLAIN, expiresAt: FULL.expiresAt })),
  good('good-features', 'features alone', textOf({ ...PLAIN, features: ['export'] })),
  good('good-features-empty', 'features that name none', textOf({ ...PLAIN, features: [] })),
  good('good-features-order', 'features in the order of the list, which is signed as it is', {
    features: ['b', 'B', 'a.b', 'a-b', 'a'],
  }),
  good('good-features-again', 'a feature that is named again', { features: ['export', 'export'] }),
  good('good-features-inherited', 'features that objects of some languages have anyway', {
    features: ['constructor', 'length', 'toString'],
  }),
  good('good-metadata', 'metadata alone', textOf({ ...PLAIN, metadata: { plan: 'pro' } })),
  good('good-metadata-empty', 'metadata without an entry', textOf({ ...PLAIN, metadata: {} })),
  good('good-metadata-unicode', 'metadata with quotes, line breaks and characters beyond ASCII', {
    metadata: { note: '"a"\n\u2028\u00e9\u{1f600}', 'order.id': '', B: '0' },
  }),
  good('good-terms-version', 'the version of the terms alone', textOf({ ...PLAIN, termsVersion: 1 })),
  good('good-grace', 'the expiry has passed, and the grace has not ended', {
    expiresAt: '2026-06-01T11:59:59.999Z',
    graceEndsAt: '2026-06-08T11:59:59.999Z',
  }),
  good('good-grace-first-moment', 'the expiry is now, and the grace begins', {
    expiresAt: NOW,
    graceEndsAt: '2026-06-15T12:00:00.000Z',
  }),
  good('good-grace-last-moment', 'the grace ends in a millisecond', {
    expiresAt: '2026-05-18T12:00:00.001Z',
    graceEndsAt: '2026-06-01T12:00:00.001Z',
  }),
  good('good-grace-before-expiry', 'a grace that ends before the expiry does not shorten the license', {
    graceEndsAt: '2026-05-01T12:00:00.000Z',
  }),
  good('good-lease', 'a lease alone', textOf({ ...PLAIN, leaseExpiresAt: FULL.leaseExpiresAt })),
  good(
    'good-answer',
    'the whole answer of an activation',
    JSON.stringify({ ok: true, license, publicKeyPem: 'not looked at' }),
  ),

  good(
    'good-members-reversed',
    'the members in another order',
    JSON.stringify(Object.fromEntries(Object.entries(license).reverse())),
  ),
  good('good-spaces', 'indented, with line breaks', `\r\n\t${JSON.stringify(license, null, 2)}\n`),
  good(
    'good-escapes',
    'characters escaped that need not be',
    textOf({ ...FULL, customer: 'A/\u00e9\u{1f600}' })
      .replace('"customer"', '"\\u0063ustomer"')
      .replace('A/\u00e9\u{1f600}', '\\u0041\\/\\u00E9\\uD83D\\uDE00'),
  ),

  good('good-int-largest', 'the largest integer, 2^53-1', withLimits({ bytes: Number.MAX_SAFE_INTEGER })),
  good(
    'good-int-smallest',
    'the smallest integer, -(2^53-1)',
    withLimits({ bytes: Number.MIN_SAFE_INTEGER }),
  ),
  good(
    'good-int-exponents',
    'integers that some writers put in exponents',
    withLimits({ a: 1e15, b: 1e7, c: 100_000 }),
  ),
  good(
    'good-limit-names',
    'names sorted by their codes: capitals first, dash before dot before letters',
    withLimits({ b: 1, B: 2, a: 3, A: 4, a1: 5, a_b: 6, 'a.b': 7, 'a-b': 8, aB: 9, Z: 10 }),
  ),
  good(
    'good-limit-names-inherited',
    'names that objects of some languages have anyway',
    withLimits({ constructor: 1, toString: 2, hasOwnProperty: 3, length: 4, class: 5 }),
  ),

  good('good-unicode-combining', 'composed and combining characters, kept as they are', {
    customer: 'e\u0301 \u00e9 a\u0323\u0302 \u1ead \u0958',
  }),
  good('good-unicode-astral', 'characters beyond 16 bits', { customer: '\u{1f5a5}\u{20000}\u{10ffff}' }),
  good('good-unicode-rtl', 'text from right to left, and marks of direction', {
    customer: '\u05d3\u05d5\u05d3 \u0645\u0631\u062d\u0628\u0627 \u200f1\u200e',
  }),
  good('good-unicode-lines', 'line separators, a byte order mark and characters that are none', {
    customer: '\u2028\u2029\ufeff\ufffd\ufffe\uffff\u007f\u0080',
  }),
  good('good-quotes', 'quotes, slashes and what HTML escapes', { customer: '"a" \\ \'/\' </b> &amp;' }),
  good('good-controls', 'every control character', {
    customer: String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code)),
  }),
  {
    ...good('good-unicode-fingerprint', 'a fingerprint that is no ASCII', {
      machineFingerprint: 'pc-e\u0301\u05d0\u{1f5a5}',
    }),
    fingerprint: 'pc-e\u0301\u05d0\u{1f5a5}',
  },

  good('good-extra-text', 'a member that a later hub may sign as well', { edition: 'pro' }),
  good('good-extra-nested', 'a later member with objects within', {
    plan: { name: 'pro', regions: { eu: { seats: 3 } }, empty: {} },
  }),
  good('good-extra-deep', 'objects within each other, 30 of them', { deep: nested(29) }),
  good('good-extra-list', 'a later member that is a list', {
    modules: ['b', { name: 'a', seats: 3 }, [], [-1, 'c', {}]],
  }),
  good('good-extra-list-deep', 'lists within each other, 29 of them', {
    deep: JSON.parse(`${'['.repeat(29)}${']'.repeat(29)}`),
  }),

  good('good-high-s', 's above half of the order is as good', withSignature(largerS(true))),
  good('good-low-s', 's below half of the order', withSignature(largerS(false))),
  good('good-r-zero-byte', 'r begins with a zero byte, which DER leaves out', zeroAt(0)),
  good('good-s-zero-byte', 's begins with a zero byte', zeroAt(32)),

  { ...good('good-last-seen', 'the time seen last is past'), lastSeen: '2026-06-01T11:59:59.999Z' },
  { ...good('good-last-seen-now', 'the time seen last is now'), lastSeen: NOW },
  {
    ...good('good-last-seen-endless', 'the clock was set back, and the license never ends', textOf(PLAIN)),
    lastSeen: '2027-01-01T00:00:00.000Z',
  },
  good('good-last-moment', 'expiry and lease end in a millisecond', {
    expiresAt: '2026-06-01T12:00:00.001Z',
    leaseExpiresAt: '2026-06-01T12:00:00.001Z',
  }),
];

/** `license`: its text, or members beside or in place of those of a full one. */
function good(name: string, about: string, license: string | object = FULL): Case {
  return {
    name,
    about,
    expected: 'ok',
    license: typeof license === 'string' ? license : textOf({ ...FULL, ...license }),
  };
}

function withLimits(limits: object): string {
  return textOf({ ...PLAIN, limits });
}

function withSignature(signature: Uint8Array): string {
  return JSON.stringify({ ...license, signature: base64url(signature) });
}

/** For each valid (r, s), (r, n-s) is valid too: the larger of both, or the smaller. */
function largerS(larger: boolean): Uint8Array {
  const { r, s } = p256.Signature.fromHex(Buffer.from(license.signature, 'base64url').toString('hex'));
  const other = p256.Point.Fn.ORDER - s;
  return new p256.Signature(r, s > other === larger ? s : other).toBytes();
}

function zeroAt(offset: number): string {
  return JSON.stringify(signedSuchThat((signature) => signature[offset] === 0));
}

function nested(levels: number): object {
  return levels === 1 ? {} : { in: nested(levels - 1) };
}
