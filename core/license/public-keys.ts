// What verifies licenses: an app's active public key, and the set of all its published ones.
import type { Pool } from 'pg';
import { appUnknown, isSlug } from './app-slug.ts';

export type PublicKey = { readonly kid: string; readonly publicKeyPem: string };

/** The active key first, then the retired ones, newest first. @throws HubError `app_unknown` */
export async function publishedKeys(pool: Pool, app: string): Promise<[PublicKey, ...PublicKey[]]> {
  if (!isSlug(app)) throw appUnknown();
  const { rows } = await pool.query<PublicKey>({
    name: 'published_keys',
    // app_slug_key, signing_key_app_idx
    text: `select k.kid, k.public_key_pem as "publicKeyPem"
           from signing_key k join app a on a.id = k.app_id
           where a.slug = $1 and k.withdrawn_at is null
           order by k.retired_at desc nulls first, k.id desc`,
    values: [app],
  });
  const [active, ...retired] = rows;
  if (active === undefined) throw appUnknown();
  return [active, ...retired];
}
