// The signed license: the JSON object a client stores and verifies offline.
import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import canonicalize from 'canonicalize';
import { isLimitName, type Limits } from './limits.ts';

const signInBackground = promisify(sign);

/** What is signed. Times are RFC 3339 UTC with milliseconds. An optional member is absent if unset, never null. */
export type LicenseContent = {
  /** `lic_…` */
  readonly licenseId: string;
  /** Slug of the app. */
  readonly app: string;
  /** `seat_…` */
  readonly seatId: string;
  readonly machineFingerprint: string;
  /** Whom the license was issued to. */
  readonly customer?: string;
  readonly limits?: Limits;
  readonly issuedAt: string;
  readonly expiresAt?: string;
  /** Until when this copy is good without contact to the hub. */
  readonly leaseExpiresAt?: string;
  /** Id of the key that signs: its RFC 7638 thumbprint. */
  readonly kid: string;
};

/** The content with its signature: base64url of the 64-byte r||s over the content and `alg` in RFC 8785 form. */
export type SignedLicense = LicenseContent & { readonly alg: 'ES256'; readonly signature: string };

/**
 * Signs with ECDSA P-256 and SHA-256 (RFC 7518 section 3.4), beside the main thread: nothing else of an activation takes
 * as long. Rejects with a TypeError, naming the member, for content that not every verifier would bring into the same canonical
 * form, and for a key that is not a P-256 private key.
 */
export async function signLicense(content: LicenseContent, privateKey: KeyObject): Promise<SignedLicense> {
  for (const [member, value] of Object.entries(content)) {
    if (member === 'limits') checkLimits(value);
    else checkText(member, value);
  }
  const unsigned = { ...content, alg: 'ES256' } as const;
  const canonical = canonicalize(unsigned);
  if (canonical === undefined) throw new TypeError('the license has no JSON form');
  const signature = await signInBackground('sha256', Buffer.from(canonical), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  if (signature.length !== 64) throw new TypeError('the signing key is not an ECDSA P-256 key');
  return { ...unsigned, signature: signature.toString('base64url') };
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

function checkText(member: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${member} must be a string, or absent`);
  if (!value.isWellFormed()) throw new TypeError(`${member} holds a lone surrogate`);
  if (member.endsWith('At') && !INSTANT.test(value)) {
    throw new TypeError(`${member} must look like 2026-01-02T03:04:05.678Z`);
  }
}

function checkLimits(limits: unknown): void {
  if (typeof limits !== 'object' || limits === null)
    throw new TypeError('limits must be an object, or absent');
  for (const [name, value] of Object.entries(limits)) {
    if (!isLimitName(name)) throw new TypeError(`limits: ${JSON.stringify(name)} is not a name for a limit`);
    if (!Number.isSafeInteger(value))
      throw new TypeError(`limits.${name} must be an integer within ±(2^53-1)`);
  }
}
