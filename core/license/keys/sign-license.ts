// Signs licenses: opens the signing key of the app, and signs the JSON object that a client verifies offline.
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import canonicalize from 'canonicalize';
import type { Pool } from 'pg';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { isTermName, type Limits, type Metadata } from '../terms.ts';

const signInPool = promisify(sign);

/**
 * The signed content. Times are RFC 3339 in UTC with milliseconds. Optional members are absent if unset,
 * never null.
 */
export type LicenseContent = {
  /** `lic_…` */
  readonly licenseId: string;
  /** Slug of the app. */
  readonly app: string;
  /** `seat_…` */
  readonly seatId: string;
  readonly machineFingerprint: string;
  readonly customer?: string;
  readonly limits?: Limits;
  /** Sorted. */
  readonly features?: string[];
  /** The entries of the license's metadata that its terms name. */
  readonly metadata?: Metadata;
  /** Counts the changes of the terms, from 1. */
  readonly termsVersion: number;
  readonly issuedAt: string;
  readonly expiresAt?: string;
  /** Until then the license stays valid after its expiry. */
  readonly graceEndsAt?: string;
  /** Until then this copy is valid without contact to the hub. */
  readonly leaseExpiresAt?: string;
  /** RFC 7638 thumbprint of the signing key. */
  readonly kid: string;
};

/** `signature` is base64url of the 64-byte r||s over the RFC 8785 form of the content and `alg`. */
export type SignedLicense = LicenseContent & { readonly alg: 'ES256'; readonly signature: string };

/**
 * Signs with ECDSA P-256 and SHA-256 (RFC 7518 section 3.4).
 *
 * A thread of the pool leaves the main thread to other requests, but handing the work over takes 45 µs: a
 * request that is alone signs on the main thread.
 *
 * @throws TypeError for content that verifiers could canonicalize differently, and for a key that is not a
 * P-256 private key
 */
export async function signLicense(
  content: LicenseContent,
  privateKey: KeyObject,
  thread: 'main' | 'pool' = 'main',
): Promise<SignedLicense> {
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new TypeError('the signing key is not an ECDSA P-256 key');
  }
  for (const [member, value] of Object.entries(content)) {
    (CHECKS[member] ?? checkText)(member, value);
  }
  const unsigned = { ...content, alg: 'ES256' } as const;
  const canonical = canonicalize(unsigned);
  if (canonical === undefined) throw new TypeError('the license cannot be serialized as JSON');
  const der = await (thread === 'main' ? sign : signInPool)('sha256', Buffer.from(canonical), privateKey);
  return { ...unsigned, signature: rawSignature(der).toString('base64url') };
}

/** The length of r and of s, which are numbers below the order of P-256. */
const SCALAR_BYTES = 32;

/**
 * Converts a signature from DER to r||s, with 32 bytes for each. The DER is SEQUENCE { r INTEGER, s INTEGER }
 * (RFC 3279 section 2.2.3). With the option `dsaEncoding`, `sign` converts it too, but takes twice as long:
 * 47 µs instead of 23.
 */
function rawSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(2 * SCALAR_BYTES);
  let offset = 2; // after the tag and the length of the sequence
  for (const end of [SCALAR_BYTES, 2 * SCALAR_BYTES]) {
    const length = der[offset + 1] ?? 0;
    offset += 2 + length;
    // DER puts a zero byte before a number whose first bit is 1, and leaves out other zero bytes.
    const digits = der.subarray(offset - Math.min(length, SCALAR_BYTES), offset);
    raw.set(digits, end - digits.length);
  }
  return raw;
}

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

function checkText(member: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${member} must be a string, or absent`);
  if (!value.isWellFormed()) throw new TypeError(`${member} contains a lone surrogate`);
  if (member.endsWith('At') && !TIMESTAMP.test(value)) {
    throw new TypeError(`${member} must look like 2026-01-02T03:04:05.678Z`);
  }
}

function checkNumber(member: string, value: unknown): void {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${member} must be an integer within ±(2^53-1)`);
}

function checkNames(member: string, names: unknown): void {
  if (!Array.isArray(names)) throw new TypeError(`${member} must be an array, or absent`);
  for (const name of names) checkName(member, name);
}

function checkName(member: string, name: string): void {
  if (!isTermName(name)) throw new TypeError(`${member}: ${JSON.stringify(name)} is not a name`);
}

/** Checks a map by its names and, with `checkValue`, its values. */
function checkMap(checkValue: Check): Check {
  return (member, map) => {
    if (typeof map !== 'object' || map === null)
      throw new TypeError(`${member} must be an object, or absent`);
    for (const [name, value] of Object.entries(map)) {
      checkName(member, name);
      checkValue(`${member}.${name}`, value);
    }
  };
}

type Check = (member: string, value: unknown) => void;

/** The members that are not texts. */
const CHECKS: Readonly<Record<string, Check | undefined>> = {
  limits: checkMap(checkNumber),
  features: checkNames,
  metadata: checkMap((member, value) => {
    if (typeof value !== 'string' || !value.isWellFormed()) throw new TypeError(`${member} must be a text`);
  }),
  termsVersion: checkNumber,
};

export type UnsealedKey = { readonly privateKey: KeyObject; readonly publicKeyPem: string };

export type SigningKeyCache = ReturnType<typeof createSigningKeyCache>;

export function createSigningKeyCache(pool: Pool, sealer: Sealer) {
  const keys = new Map<string, Promise<UnsealedKey>>();
  return {
    /** Reads the key on first use. A key id always names the same key, so entries never expire. */
    get(kid: string): Promise<UnsealedKey> {
      let key = keys.get(kid);
      if (key === undefined) {
        key = readKey(pool, sealer, kid);
        keys.set(kid, key);
        key.catch(() => keys.delete(kid));
      }
      return key;
    },
  };
}

/** The purpose that a signing key's private half is sealed for. */
export function sealedFor(signingKeyId: string): string {
  return `signing_key:${signingKeyId}`;
}

async function readKey(pool: Pool, sealer: Sealer, kid: string): Promise<UnsealedKey> {
  const { rows } = await pool.query({
    name: 'read_signing_key',
    text: 'select id, public_key_pem, sealed_private_key from signing_key where kid = $1',
    values: [kid],
  });
  const [row] = rows;
  if (row === undefined) throw new Error(`signing key ${kid} does not exist`);
  const pkcs8 = sealer.open(row.sealed_private_key, sealedFor(row.id));
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  pkcs8.fill(0);
  return { privateKey, publicKeyPem: row.public_key_pem };
}
