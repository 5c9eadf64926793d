// Administration of licenses: get, list, revoke, reinstate.
import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import type { Page, PageRequest } from '../../storage/sql/page.ts';
import { type License, LicenseSchema } from '../entities.ts';
import { type LicenseFilter, listLicenses } from './list/list-licenses.ts';

export type LicensesOptions = { readonly db: Database; readonly clock: Clock };

export function createLicenses({ db, clock }: LicensesOptions) {
  /** Changes a license under its lock, and returns it. */
  const change = (licenseId: string, work: (em: EntityManager, license: License) => void): Promise<License> =>
    db.em().transactional(async (em) => {
      const license = await findLicense(em, licenseId, LockMode.PESSIMISTIC_WRITE);
      work(em, license);
      return license;
    });

  return {
    /** @throws HubError `license_unknown` */
    get(licenseId: string): Promise<License> {
      return findLicense(db.em(), licenseId);
    },

    /** @throws HubError `app_unknown`, `page_token_invalid` */
    list(filter: LicenseFilter, request: PageRequest): Promise<Page<License>> {
      return listLicenses(db, filter, request, clock());
    },

    /** Revoking a revoked license changes nothing. @throws HubError `license_unknown` */
    revoke(licenseId: string, reason: string, actor: Actor): Promise<License> {
      return change(licenseId, (em, license) => {
        if (license.revokedAt != null) return;
        license.revokedAt = clock();
        license.revokeReason = reason;
        recordChange(em, actor, clock(), {
          action: 'license.revoke',
          subject: licenseId,
          before: { state: 'active' },
          after: { state: 'revoked', reason },
        });
      });
    },

    /** Reinstating a license that is not revoked changes nothing. @throws HubError `license_unknown` */
    reinstate(licenseId: string, actor: Actor): Promise<License> {
      return change(licenseId, (em, license) => {
        if (license.revokedAt == null) return;
        const reason = license.revokeReason;
        license.revokedAt = null;
        license.revokeReason = null;
        recordChange(em, actor, clock(), {
          action: 'license.reinstate',
          subject: licenseId,
          before: { state: 'revoked', reason },
          after: { state: 'active' },
        });
      });
    },
  };
}

/** @throws HubError `license_unknown` */
export async function findLicense(
  em: EntityManager,
  licenseId: string,
  lockMode?: LockMode,
): Promise<License> {
  const id = parseId('lic', licenseId);
  // Lock only the license; its app and profile are read separately.
  const license = id ? await em.findOne(LicenseSchema, { id }, { ...(lockMode && { lockMode }) }) : null;
  if (license === null) throw licenseUnknown();
  await em.populate(license, ['app', 'limitProfile', 'customer']);
  return license;
}

export function licenseUnknown(): HubError {
  return new HubError('license_unknown', 'there is no license with this id', { field: 'licenseId' });
}
