// The trust anchor: the public keys compiled into the application, the only ones that verify licenses.
import { LicenseError } from '../errors.ts';
import {
  importVerifier,
  type PublicPoint,
  pointOfPem,
  thumbprintOf,
  type VerifySignature,
} from './public-key.ts';
import type { Trust } from './trust-option.ts';

export type TrustAnchor = {
  /**
   * Returns the pinned key whose thumbprint is `kid`. A key pinned by thumbprint only comes from `offered`, which must
   * have that thumbprint. Rejects with LicenseError `untrusted_key` if the key is not pinned, `key_missing` if it is
   * pinned but neither compiled in nor offered.
   */
  key(kid: unknown, offered?: PublicPoint): Promise<PinnedKey>;
};

export type PinnedKey = { readonly verifySignature: VerifySignature; readonly point: PublicPoint };

/** Rejects with a TypeError that names the option if a key is invalid. */
export async function createTrustAnchor(trust: Trust): Promise<TrustAnchor> {
  const { publicKeyPems = [], thumbprints = [] } = trust;
  const known = new Map<string, PinnedKey>();
  const pinned = new Set(thumbprints);
  for (const thumbprint of thumbprints) {
    if (!/^[A-Za-z0-9_-]{43}$/.test(thumbprint)) {
      throw new TypeError('trust.thumbprints: give the kid of a key, 43 characters of base64url');
    }
  }
  for (const pem of publicKeyPems) {
    const point = await pointOfPem(pem).catch((cause: Error) => {
      throw new TypeError(`trust.publicKeyPems: ${cause.message}`, { cause });
    });
    const kid = await thumbprintOf(point);
    pinned.add(kid);
    known.set(kid, { verifySignature: await importVerifier(point), point });
  }

  return {
    async key(kid, offered) {
      if (typeof kid !== 'string' || !pinned.has(kid)) {
        throw new LicenseError(
          'untrusted_key',
          'the license is signed with a key that is not compiled into the application',
        );
      }
      const found = known.get(kid);
      if (found !== undefined) return found;
      if (offered === undefined || (await thumbprintOf(offered)) !== kid) {
        throw new LicenseError(
          'key_missing',
          `the key ${kid} is pinned by its thumbprint and has not been fetched yet`,
        );
      }
      const taken = { verifySignature: await importVerifier(offered), point: offered };
      known.set(kid, taken);
      return taken;
    },
  };
}
