// The trust anchor: the keys that the vendor built into the application. No other key verifies anything.
import { LicenseError } from './errors.ts';
import { type IsSigned, type PublicPoint, pointOfPem, signatureCheckOf, thumbprintOf } from './public-key.ts';
import type { Trust } from './trust.ts';

export type TrustAnchor = {
  /**
   * The pinned key with this id, which is its thumbprint. `offered` is where a key comes from that is pinned by its
   * thumbprint only: it is taken if it has exactly that one. Rejects with LicenseError `untrusted_key` if the id is
   * not pinned, `key_missing` if it is and the key itself is neither built in nor offered.
   */
  key(kid: unknown, offered?: PublicPoint): Promise<PinnedKey>;
};

export type PinnedKey = { readonly isSigned: IsSigned; readonly point: PublicPoint };

/** Rejects with a TypeError that names the option if a key cannot be read. */
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
    known.set(kid, { isSigned: await signatureCheckOf(point), point });
  }

  return {
    async key(kid, offered) {
      if (typeof kid !== 'string' || !pinned.has(kid)) {
        throw new LicenseError('untrusted_key', 'the license is signed with a key that is not built in');
      }
      const found = known.get(kid);
      if (found !== undefined) return found;
      if (offered === undefined || (await thumbprintOf(offered)) !== kid) {
        throw new LicenseError(
          'key_missing',
          `the key ${kid} is pinned by its thumbprint, and is not here yet`,
        );
      }
      const taken = { isSigned: await signatureCheckOf(offered), point: offered };
      known.set(kid, taken);
      return taken;
    },
  };
}
