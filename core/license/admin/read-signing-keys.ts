// Reads the signing keys of apps.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { type App, type SigningKey, SigningKeySchema } from '../entities.ts';

export type AppWithKeys = { readonly app: App; readonly signingKeys: readonly SigningKey[] };

/** Per app, newest first. */
const MAX_LISTED_KEYS = 100;
const NEWEST_FIRST = { orderBy: { id: 'desc' } } as const;

/** The app with its published keys and its newest withdrawn ones, newest first. Uses signing_key_app_idx. */
export async function readAppWithKeys(em: EntityManager, app: App): Promise<AppWithKeys> {
  const published = await em.find(SigningKeySchema, { app, withdrawnAt: null }, NEWEST_FIRST);
  const withdrawn = await em.find(
    SigningKeySchema,
    { app, withdrawnAt: { $ne: null } },
    { ...NEWEST_FIRST, limit: MAX_LISTED_KEYS - published.length },
  );
  const signingKeys = [...published, ...withdrawn].sort((one, other) => (one.id < other.id ? 1 : -1));
  return { app, signingKeys };
}

export async function readAppsWithKeys(
  em: EntityManager,
  pool: Pool,
  apps: readonly App[],
): Promise<AppWithKeys[]> {
  const appIds = apps.map(({ id }) => id);
  const keyIds = await listKeyIds(pool, appIds);
  const keys = await em.find(SigningKeySchema, { id: { $in: keyIds } }, NEWEST_FIRST);
  return apps.map((app) => ({ app, signingKeys: keys.filter((key) => key.app.id === app.id) }));
}

/**
 * The ids of the keys to list for each app; published keys come before withdrawn ones. In SQL, because the
 * ORM cannot limit the rows per app in one query.
 */
async function listKeyIds(pool: Pool, appIds: readonly string[]): Promise<string[]> {
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
