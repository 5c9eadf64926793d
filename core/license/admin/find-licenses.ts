// Reads licenses: one, or a page of a list.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import type { Page, PageRequest } from '../../storage/sql/page.ts';
import { type License, LicenseSchema } from '../entities.ts';
import { type LicenseFilter, listLicenses } from './list/list-licenses.ts';

export type LicensesOptions = { readonly db: Database; readonly clock: Clock };

export function createLicenses({ db, clock }: LicensesOptions) {
  return {
    /** @throws HubError `license_unknown` */
    get(licenseId: string): Promise<License> {
      return findLicense(db.em(), licenseId);
    },

    /** @throws HubError `app_unknown`, `page_token_invalid` */
    list(filter: LicenseFilter, request: PageRequest): Promise<Page<License>> {
      return listLicenses(db, filter, request, clock());
    },
  };
}

/** @throws HubError `license_unknown` */
export async function findLicense(em: EntityManager, licenseId: string): Promise<License> {
  const id = parseId('lic', licenseId);
  const license = id ? await em.findOne(LicenseSchema, { id }) : null;
  if (license === null) throw licenseUnknown();
  await em.populate(license, ['app', 'limitProfile', 'customer']);
  return license;
}

export function licenseUnknown(): HubError {
  return new HubError('license_unknown', 'there is no license with this id', { field: 'licenseId' });
}
