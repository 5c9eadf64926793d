// Finds an app by its slug, and locks it.
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { appUnknown } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import { type App, AppSchema } from '../entities.ts';

/** @throws HubError `app_unknown` */
export async function findApp(
  em: EntityManager,
  slug: string,
  options: { lockMode?: LockMode.PESSIMISTIC_WRITE } = {},
): Promise<App> {
  const app = isResourceName(slug) ? await em.findOne(AppSchema, { slug }, options) : null;
  if (app === null) throw appUnknown();
  return app;
}

/**
 * Locks the app until the end of the transaction: its keys and profiles change one at a time.
 * @throws HubError `app_unknown`
 */
export function lockApp(em: EntityManager, slug: string): Promise<App> {
  return findApp(em, slug, { lockMode: LockMode.PESSIMISTIC_WRITE });
}
