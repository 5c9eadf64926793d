// Reads licenses by their ids.
import type { EntityManager } from '@mikro-orm/postgresql';
import { type License, LicenseSchema } from '../entities.ts';

/** The licenses with these ids, in this order. */
export async function readLicenses(em: EntityManager, ids: readonly string[]): Promise<License[]> {
  const populate = ['app', 'limitProfile', 'customer'] as const;
  const licenses = await em.find(LicenseSchema, { id: { $in: [...ids] } }, { populate });
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
