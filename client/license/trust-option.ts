// The option `trust`: public keys that verify licenses.

/** At least one key, in PEM, by thumbprint, or both. */
export type Trust =
  | { readonly publicKeyPems: PublicKeyPems; readonly thumbprints?: Thumbprints | undefined }
  | { readonly publicKeyPems?: PublicKeyPems | undefined; readonly thumbprints: Thumbprints };

/** Public keys as SubjectPublicKeyInfo in PEM, as returned by `/v1/apps/{slug}/public-key`. At least one. */
type PublicKeyPems = readonly string[];

/** RFC 7638 thumbprints of public keys, the `kid` values of `/v1/apps/{slug}/jwks.json`. At least one. */
type Thumbprints = readonly string[];
