// Licenses whose content puts a canonicaliser to the test.
import type { LicenseContent } from '../../../../core/license/keys/sign-license.ts';

const PLAIN: LicenseContent = {
  licenseId: 'lic_01kxyz0000e0r9m5r1c2q3s4t5',
  app: 'paintbox',
  seatId: 'seat_01kxyz0000e0r9m5r1c2q3s4t5',
  machineFingerprint: 'sha256:f00d \u00fc\u{1f5a5}',
  termsVersion: 1,
  issuedAt: '2026-01-02T03:04:05.678Z',
  kid: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
};

/** Licenses to sign, by their special feature. */
export const SAMPLE_LICENSES: Readonly<Record<string, LicenseContent>> = {
  'no optional member': PLAIN,
  'every optional member': {
    ...PLAIN,
    customer: 'Ada Lovelace',
    limits: { projects: 3 },
    expiresAt: '2127-01-01T00:00:00.000Z',
    leaseExpiresAt: '2126-01-31T23:59:59.999Z',
  },
  'unlimited and none': { ...PLAIN, limits: { unlimited: -1, none: 0 } },
  'empty limits': { ...PLAIN, limits: {} },
  'the largest and the smallest integer': {
    ...PLAIN,
    limits: { most: Number.MAX_SAFE_INTEGER, least: Number.MIN_SAFE_INTEGER },
  },
  'integers that some writers put in exponents': { ...PLAIN, limits: { a: 1e15, b: 1e7, c: 100_000 } },
  'limit names in upper and lower case': {
    ...PLAIN,
    limits: { b: 1, B: 2, a: 3, A: 4, 'a.b': 5, a_b: 6, 'a-b': 7 },
  },
  'limit names that objects inherit': { ...PLAIN, limits: JSON.parse('{"constructor": 1, "toString": 2}') },
  'characters beyond 16 bits': { ...PLAIN, customer: '\u{1f600}\u{10ffff} \u{20000}' },
  'combining marks': { ...PLAIN, customer: 'e\u0301 \u00e9 a\u0323\u0302 \u1ead \u0958' },
  'right-to-left text': { ...PLAIN, customer: '\u05d3\u05d5\u05d3 \u0645\u0631\u062d\u0628\u0627 1' },
  'quotes and slashes': { ...PLAIN, customer: '"quoted" \\ \'/\' </script> &amp;' },
  'every control character': {
    ...PLAIN,
    customer: String.fromCharCode(...Array.from({ length: 32 }, (_, code) => code), 0x7f, 0x80, 0x9f),
  },
  'line separators, a byte order mark and non-characters': {
    ...PLAIN,
    customer: '\u2028\u2029\ufeff\ufffe\uffff',
  },
};
