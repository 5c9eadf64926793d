// Reads the signing keys of apps.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { type App, type SigningKey, SigningKeySchema } from '../entities.ts';
import { listKeyIds, MAX_LISTED_KEYS } from './list-key-ids.ts';

export type AppWithKeys = { readonly app: App; readonly signingKeys: readonly SigningKey[] };

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
