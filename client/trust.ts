// The keys that verify licenses, as an application names them.

/** At least one key, in either form or in both. */
export type Trust =
  | { readonly publicKeyPems: PublicKeyPems; readonly thumbprints?: Thumbprints | undefined }
  | { readonly publicKeyPems?: PublicKeyPems | undefined; readonly thumbprints: Thumbprints };

/** Public keys, SubjectPublicKeyInfo in PEM: what `/v1/apps/{slug}/public-key` answers. At least one. */
type PublicKeyPems = readonly string[];

/** RFC 7638 thumbprints of public keys: the `kid` of each in `/v1/apps/{slug}/jwks.json`. At least one. */
type Thumbprints = readonly string[];
