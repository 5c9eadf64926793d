// Issues licenses. Their keys are returned only here: the database stores hashes.
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import type { License } from '../entities.ts';
import { hashLicenseKey, licenseKeyHint, newLicenseKeys } from '../keys/license-key.ts';
import type { Limits } from '../terms.ts';
import { findApp } from './apps.ts';
import { insertLicenses } from './insert-licenses.ts';
import { readLicenses } from './licenses.ts';
import { findLimitProfile } from './limit-profiles.ts';

export type IssueRequest = {
  readonly app: string;
  /** -1 means unlimited. */
  readonly seatLimit: number;
  /** Override the limits of the profile. */
  readonly limits: Limits | undefined;
  readonly limitProfile: string | undefined;
  readonly customer: string | undefined;
  readonly expiresAt: Date | undefined;
  readonly leaseDays: number | undefined;
  readonly count: number;
  /** The apps that the caller's token is limited to; undefined if it is not limited. */
  readonly callerApps: readonly string[] | undefined;
};

export type Issued = { readonly license: License; readonly licenseKey: string };

export type IssueOptions = { readonly db: Database; readonly sealer: Sealer; readonly clock: Clock };

// RFC 3339 has four digits for the year.
const END_OF_TIME = new Date('9999-12-31T23:59:59.999Z');

/**
 * Issues all licenses or none. Rejects with HubError `app_unknown`, `limit_profile_unknown` or
 * `expiry_invalid`.
 */
export function createIssueLicenses({ db, sealer, clock }: IssueOptions) {
  return async (request: IssueRequest, actor: Actor): Promise<Issued[]> => {
    const now = clock();
    if (request.expiresAt && !(request.expiresAt > now && request.expiresAt <= END_OF_TIME)) {
      throw new HubError('expiry_invalid', 'the expiry must be in the future and before the year 10000', {
        field: 'expiresAt',
      });
    }
    const em = db.em();
    const app = await findApp(em, request.app);
    const limitProfile = request.limitProfile ? await findLimitProfile(em, app, request.limitProfile) : null;
    const terms = {
      app,
      seatLimit: request.seatLimit,
      limits: request.limits ?? null,
      limitProfile,
      leaseDays: request.leaseDays ?? null,
      expiresAt: request.expiresAt ?? null,
      createdAt: now,
    };
    const issued = newLicenseKeys(request.count).map((licenseKey) => {
      const normalized = licenseKey.replaceAll('-', '');
      const keyHash = hashLicenseKey(normalized);
      return { id: newUuid(), keyHash, keyHint: licenseKeyHint(normalized), licenseKey };
    });
    const [first, last] = [issued.at(0), issued.at(-1)];
    const customer =
      request.customer === undefined
        ? undefined
        : { name: request.customer, email: undefined, sealer, actor, now, apps: request.callerApps };
    await insertLicenses(db.pool, issued, terms, customer, (client) =>
      recordChangeNow(client, actor, now, {
        action: 'license.issue',
        subject: formatId('app', app.id),
        before: null,
        after: {
          count: issued.length,
          ...(first && last && { first: formatId('lic', first.id), last: formatId('lic', last.id) }),
          seatLimit: request.seatLimit,
          limits: request.limits ?? null,
          limitProfile: request.limitProfile ?? null,
          leaseDays: request.leaseDays ?? null,
          expiresAt: request.expiresAt ?? null,
        },
        detail: { slug: app.slug },
      }),
    );
    const licenses = await readLicenses(
      em,
      issued.map(({ id }) => id),
    );
    return licenses.map((license, index) => ({ license, licenseKey: issued[index]?.licenseKey ?? '' }));
  };
}
