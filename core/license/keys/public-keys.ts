// Public keys of an app: the active one, and all published ones.
import type { Pool } from 'pg';
import { appUnknown } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';

export type PublicKey = { readonly kid: string; readonly publicKeyPem: string };

/**
 * The function resolves with the active key first, then the retired ones, newest first; it rejects with
 * HubError `app_unknown`. Concurrent requests share one statement.
 */
export function createPublishedKeys(pool: Pool) {
  const read = createBatcher<string, [PublicKey, ...PublicKey[]]>({
    run: async (apps) => {
      const found = await readKeys(pool, [...new Set(apps)]);
      return apps.map((app) => found.get(app) ?? appUnknown());
    },
    maxSize: 256,
  });
  return async (app: string): Promise<readonly [PublicKey, ...PublicKey[]]> => {
    if (!isResourceName(app)) throw appUnknown();
    return read(app);
  };
}

async function readKeys(
  pool: Pool,
  apps: readonly string[],
): Promise<Map<string, [PublicKey, ...PublicKey[]]>> {
  const { rows } = await pool.query<PublicKey & { app: string }>({
    name: 'published_keys',
    // app_slug_key, signing_key_app_idx
    text: `select a.slug as app, k.kid, k.public_key_pem as "publicKeyPem"
           from signing_key k join app a on a.id = k.app_id
           where a.slug = any($1) and k.withdrawn_at is null
           order by k.retired_at desc nulls first, k.id desc`,
    values: [apps],
  });
  const found = new Map<string, [PublicKey, ...PublicKey[]]>();
  for (const { app, ...key } of rows) {
    const keys = found.get(app);
    if (keys === undefined) found.set(app, [key]);
    else keys.push(key);
  }
  return found;
}
