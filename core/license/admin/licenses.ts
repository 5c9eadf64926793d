// Administration of licenses: get, list, revoke, reinstate.
import { type EntityManager, type FilterQuery, LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import { type License, LicenseSchema } from '../entities.ts';
import type { LicenseStateName } from '../terms.ts';
import { findApp } from './apps.ts';

export type LicenseFilter = {
  readonly app: string | undefined;
  readonly state: LicenseStateName | undefined;
  readonly customer: string | undefined;
  readonly keyHint: string | undefined;
};

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
    async list(filter: LicenseFilter, request: PageRequest): Promise<Page<License>> {
      const em = db.em();
      const app = filter.app === undefined ? undefined : await findApp(em, filter.app);
      const conditions: FilterQuery<License>[] = [stateCondition(filter.state, clock())];
      if (app) conditions.push({ app });
      if (filter.customer !== undefined) conditions.push({ customer: { name: filter.customer } });
      if (filter.keyHint !== undefined) conditions.push({ keyHint: filter.keyHint.toUpperCase() });
      return readPage(request, 'lic', (after, limit) =>
        em.find(
          LicenseSchema,
          { $and: after ? [...conditions, { id: { $lt: after } }] : conditions },
          { orderBy: { id: 'desc' }, limit, populate: ['app', 'limitProfile', 'customer'] },
        ),
      );
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

/** The licenses with these ids, in this order. */
export async function readLicenses(em: EntityManager, ids: readonly string[]): Promise<License[]> {
  const populate = ['app', 'limitProfile', 'customer'] as const;
  const licenses = await em.find(LicenseSchema, { id: { $in: [...ids] } }, { populate });
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The rule of `licenseState` as a query condition. */
function stateCondition(state: LicenseStateName | undefined, now: Date): FilterQuery<License> {
  switch (state) {
    case undefined:
      return {};
    case 'revoked':
      return { revokedAt: { $ne: null } };
    case 'expired':
      return { revokedAt: null, suspendedAt: null, endsAt: { $lte: now } };
    case 'suspended':
      return { revokedAt: null, suspendedAt: { $ne: null } };
    case 'grace':
      return { revokedAt: null, suspendedAt: null, expiresAt: { $lte: now }, endsAt: { $gt: now } };
    case 'active':
      return {
        revokedAt: null,
        suspendedAt: null,
        $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }],
      };
  }
}
