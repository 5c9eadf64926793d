// P-256 public keys: PEM, JWK, RFC 7638 thumbprints and signature verification by WebCrypto.
import { bytesOf, decodeBase64url, encodeBase64url } from './base64url.ts';

/** Coordinates of a P-256 public key (RFC 7518 section 6.2.1): 32 bytes each, in base64url. */
export type PublicPoint = { readonly x: string; readonly y: string };

/** Verifies a 64-byte r‖s signature of UTF-8 text: ECDSA with SHA-256 (RFC 7518 section 3.4). */
export type VerifySignature = (signature: Uint8Array, text: string) => Promise<boolean>;

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const COORDINATE_BYTES = 32;

/** @throws TypeError if the text is not a P-256 SubjectPublicKeyInfo in PEM */
export async function pointOfPem(pem: string): Promise<PublicPoint> {
  const [, base64] =
    /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*$/.exec(pem) ?? [];
  if (base64 === undefined) throw new TypeError('not a public key in PEM (-----BEGIN PUBLIC KEY-----)');
  try {
    const der = bytesOf(atob(base64.replace(/\s/g, '')));
    const key = await crypto.subtle.importKey('spki', der, CURVE, true, ['verify']);
    const { x, y } = await crypto.subtle.exportKey('jwk', key);
    if (x !== undefined && y !== undefined) return { x, y };
  } catch (cause) {
    throw new TypeError('not the public key of an ECDSA P-256 key', { cause });
  }
  throw new TypeError('a public key without coordinates');
}

/** Reads the coordinates of a JSON Web Key; undefined if it is not a P-256 key. */
export function pointOfJwk(jwk: { readonly [name: string]: unknown }): PublicPoint | undefined {
  const { kty = 'EC', crv = 'P-256', x, y } = jwk;
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string') return undefined;
  const isPoint = [x, y].every((coordinate) => decodeBase64url(coordinate, COORDINATE_BYTES) !== undefined);
  return isPoint ? { x, y } : undefined;
}

/** RFC 7638: base64url of the SHA-256 of the key's required members, in lexicographic order and without spaces. */
export async function thumbprintOf({ x, y }: PublicPoint): Promise<string> {
  const members = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y });
  return encodeBase64url(new Uint8Array(await sha256(members)));
}

/** Rejects if the point is not on the curve. */
export async function importVerifier({ x, y }: PublicPoint): Promise<VerifySignature> {
  const jwk = { kty: 'EC', crv: 'P-256', x, y };
  const key = await crypto.subtle.importKey('jwk', jwk, CURVE, false, ['verify']);
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
  return (signature, text) =>
    crypto.subtle.verify(algorithm, key, new Uint8Array(signature), new TextEncoder().encode(text));
}

export function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
}
