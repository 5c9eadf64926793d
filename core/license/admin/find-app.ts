// Finds an app by its slug, and locks it.
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { appUnknown } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import { type App, AppSchema } from '../entities.ts';

/** @throws HubError `app_unknown` */
export async function findApp(em: EntityManager, slug: string): Promise<App> {
  const app = isResourceName(slug) ? await em.findOne(AppSchema, { slug }) : null;
  if (app === null) throw appUnknown();
  return app;
}

/**
 * Locks the app until the end of the transaction: its keys and profiles change one at a time.
 * @throws HubError `app_unknown`
 */
export async function lockApp(em: EntityManager, slug: string): Promise<App> {
  const app = await findApp(em, slug);
  await em.lock(app, LockMode.PESSIMISTIC_WRITE);
  return app;
}
