// Reads licenses by their ids.
import type { EntityManager } from '@mikro-orm/postgresql';
import { findById } from '../../storage/sql/find-by-id.ts';
import { type License, LicenseSchema } from '../entities.ts';

const POPULATED = ['app', 'limitProfile', 'customer'] as const;

/** @throws HubError `license_unknown` */
export async function findLicense(em: EntityManager, licenseId: string): Promise<License> {
  const license = await findById(em, LicenseSchema, 'lic', licenseId);
  await em.populate(license, POPULATED);
  return license;
}

/** The licenses with these UUIDs, in this order. */
export async function readLicenses(em: EntityManager, ids: readonly string[]): Promise<License[]> {
  const licenses = await em.find(LicenseSchema, { id: { $in: [...ids] } }, { populate: POPULATED });
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
