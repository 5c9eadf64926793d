// Reads licenses by their ids.
import type { EntityManager } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { type License, LicenseSchema } from '../entities.ts';

const POPULATED = ['app', 'limitProfile', 'customer'] as const;

/** @throws HubError `license_unknown` */
export async function findLicense(em: EntityManager, licenseId: string): Promise<License> {
  const id = parseId('lic', licenseId);
  const license = id ? await em.findOne(LicenseSchema, { id }) : null;
  if (license === null) throw licenseUnknown();
  await em.populate(license, POPULATED);
  return license;
}

export function licenseUnknown(): HubError {
  return new HubError('license_unknown', 'there is no license with this id', { field: 'licenseId' });
}

/** The licenses with these UUIDs, in this order. */
export async function readLicenses(em: EntityManager, ids: readonly string[]): Promise<License[]> {
  const licenses = await em.find(LicenseSchema, { id: { $in: [...ids] } }, { populate: POPULATED });
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
