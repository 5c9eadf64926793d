// Signing keys: the ECDSA P-256 key pair of an app and its public forms.
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** Seal the private key before storing it. */
export type SigningKeyPair = {
  /** Key id: the RFC 7638 thumbprint. */
  readonly kid: string;
  /** SubjectPublicKeyInfo in PEM. */
  readonly publicKeyPem: string;
  /** PKCS #8 in DER. */
  readonly privateKeyPkcs8: Buffer;
};

/** A public P-256 key as a JSON Web Key (RFC 7517, RFC 7518 section 6.2). */
export type PublicJwk = {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
};

/** The kid never begins with a dash: a command line would take it for an option. */
export function generateSigningKey(): SigningKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = thumbprint(publicKey);
  if (kid.startsWith('-')) return generateSigningKey();
  return {
    kid,
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKeyPkcs8: privateKey.export({ type: 'pkcs8', format: 'der' }),
  };
}

/** Converts a public key in PEM to a JSON Web Key. @throws TypeError if it is not a P-256 key */
export function publicJwk(publicKeyPem: string, kid: string): PublicJwk {
  const { x, y } = coordinates(createPublicKey(publicKeyPem));
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
}

/**
 * RFC 7638: base64url of the SHA-256 of the key's required members, in lexicographic order and without
 * spaces.
 */
export function thumbprint(publicKey: KeyObject): string {
  const { x, y } = coordinates(publicKey);
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');
}

function coordinates(publicKey: KeyObject): { x: string; y: string } {
  const { crv, x, y } = publicKey.export({ format: 'jwk' });
  if (crv !== 'P-256' || x === undefined || y === undefined) throw new TypeError('not a P-256 public key');
  return { x, y };
}
