// Finds the signing keys to list for each app.
import type { Pool } from 'pg';

/** Per app, newest first. */
export const MAX_LISTED_KEYS = 100;

/**
 * The ids of the keys to list for each app; published keys come before withdrawn ones. In SQL, because the
 * ORM cannot limit the rows per app in one query.
 */
export async function listKeyIds(pool: Pool, appIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'list_key_ids',
    // signing_key_app_idx, once per app
    text: `select k.id from unnest($1::uuid[]) as t (app_id) cross join lateral (
             select id from signing_key where app_id = t.app_id
             order by withdrawn_at is not null, id desc limit ${MAX_LISTED_KEYS}
           ) as k`,
    values: [appIds],
  });
  return rows.map(({ id }) => id);
}
