// Issues licenses: the only moment at which their keys are known.

import { recordChange } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, newUuid } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { findApp } from './apps.ts';
import { type License, LicenseSchema } from './entities.ts';
import { hashLicenseKey, licenseKeyHint, newLicenseKey, normalizeLicenseKey } from './license-key.ts';
import { findLimitProfile } from './limit-profiles.ts';
import type { Limits } from './limits.ts';

export type IssueRequest = {
  readonly app: string;
  /** -1 means unlimited, 0 none. */
  readonly seatLimit: number;
  /** The licenses' own; they override those of the profile. */
  readonly limits: Limits | undefined;
  readonly limitProfile: string | undefined;
  readonly customer: string | undefined;
  readonly expiresAt: Date | undefined;
  readonly leaseDays: number | undefined;
  readonly count: number;
};

export type Issued = { readonly license: License; readonly licenseKey: string };

export type IssueOptions = { readonly db: Database; readonly clock: Clock };

// RFC 3339 has four digits for the year.
const END_OF_TIME = new Date('9999-12-31T23:59:59.999Z');

/** Issues all or none. Rejects with HubError `app_unknown`, `limit_profile_unknown` or `expiry_invalid`. */
export function createIssueLicenses({ db, clock }: IssueOptions) {
  return (request: IssueRequest, actor: Actor): Promise<Issued[]> =>
    db.em().transactional(async (em) => {
      const now = clock();
      if (request.expiresAt && !(request.expiresAt > now && request.expiresAt < END_OF_TIME)) {
        throw new HubError(
          'expiry_invalid',
          'the expiry has to lie in the future and before the year 10000',
          {
            field: 'expiresAt',
          },
        );
      }
      const app = await findApp(em, request.app);
      const limitProfile = request.limitProfile
        ? await findLimitProfile(em, app, request.limitProfile)
        : null;
      const issued = Array.from({ length: request.count }, () => {
        const licenseKey = newLicenseKey();
        const normalized = normalizeLicenseKey(licenseKey) ?? '';
        const license = em.create(LicenseSchema, {
          id: newUuid(),
          app,
          keyHash: hashLicenseKey(normalized),
          keyHint: licenseKeyHint(normalized),
          customer: request.customer ?? null,
          seatLimit: request.seatLimit,
          limits: request.limits ?? null,
          limitProfile,
          leaseDays: request.leaseDays ?? null,
          expiresAt: request.expiresAt ?? null,
          createdAt: now,
        });
        return { license, licenseKey };
      });
      const [first, last] = [issued.at(0), issued.at(-1)];
      recordChange(em, actor, now, {
        action: 'license.issue',
        subject: formatId('app', app.id),
        detail: {
          slug: app.slug,
          count: issued.length,
          ...(first &&
            last && { first: formatId('lic', first.license.id), last: formatId('lic', last.license.id) }),
          seatLimit: request.seatLimit,
        },
      });
      return issued;
    });
}
