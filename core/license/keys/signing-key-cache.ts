// Cache of unsealed signing keys, by key id.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { Sealer } from '../../storage/secrets/sealing.ts';

export type UnsealedKey = { readonly privateKey: KeyObject; readonly publicKeyPem: string };

export type SigningKeyCache = {
  /** Reads the key on first use. A key id always names the same key, so entries never expire. */
  get(kid: string): Promise<UnsealedKey>;
};

export function createSigningKeyCache(pool: Pool, sealer: Sealer): SigningKeyCache {
  const keys = new Map<string, Promise<UnsealedKey>>();
  return {
    get(kid) {
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
