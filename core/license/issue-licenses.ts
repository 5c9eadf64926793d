// Issues licenses: the only moment at which their keys are known.
import type { QueryConfig } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, newUuid } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { inTransaction } from '../storage/transaction.ts';
import { findApp } from './apps.ts';
import type { License } from './entities.ts';
import { HASH_BYTES, hashLicenseKey, licenseKeyHint, newLicenseKeys } from './license-key.ts';
import { findLimitProfile } from './limit-profiles.ts';
import type { Limits } from './limits.ts';

export type IssueRequest = {
  readonly app: string;
  /** -1 means unlimited. */
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
  return async (request: IssueRequest, actor: Actor): Promise<Issued[]> => {
    const now = clock();
    if (request.expiresAt && !(request.expiresAt > now && request.expiresAt <= END_OF_TIME)) {
      throw new HubError('expiry_invalid', 'the expiry has to lie in the future and before the year 10000', {
        field: 'expiresAt',
      });
    }
    const em = db.em();
    const app = await findApp(em, request.app);
    const limitProfile = request.limitProfile ? await findLimitProfile(em, app, request.limitProfile) : null;
    const terms = {
      app,
      customer: request.customer ?? null,
      seatLimit: request.seatLimit,
      seatsUsed: 0,
      limits: request.limits ?? null,
      limitProfile,
      leaseDays: request.leaseDays ?? null,
      expiresAt: request.expiresAt ?? null,
      createdAt: now,
      revokedAt: null,
      revokeReason: null,
    };
    const issued = newLicenseKeys(request.count).map((licenseKey) => {
      const normalized = licenseKey.replaceAll('-', '');
      const keyHash = hashLicenseKey(normalized);
      const license = { ...terms, id: newUuid(), keyHash, keyHint: licenseKeyHint(normalized) };
      return { license, licenseKey };
    });
    const licenses = issued.map(({ license }) => license);
    const [first, last] = [licenses.at(0), licenses.at(-1)];
    await inTransaction(db.pool, async (client, send) => {
      send(insertion(terms, licenses));
      await recordChangeNow(client, actor, now, {
        action: 'license.issue',
        subject: formatId('app', app.id),
        before: null,
        after: {
          count: licenses.length,
          ...(first && last && { first: formatId('lic', first.id), last: formatId('lic', last.id) }),
          seatLimit: request.seatLimit,
          limits: request.limits ?? null,
          limitProfile: request.limitProfile ?? null,
          leaseDays: request.leaseDays ?? null,
          expiresAt: request.expiresAt ?? null,
        },
        detail: { slug: app.slug },
      });
    });
    return issued;
  };
}

/** One statement for all: they differ in nothing but id and key. The hashes come as one value, which is sent as it is. */
function insertion(
  terms: Omit<License, 'id' | 'keyHash' | 'keyHint'>,
  licenses: readonly License[],
): QueryConfig {
  return {
    name: 'issue_licenses',
    text: `insert into license (id, key_hash, key_hint, app_id, customer, seat_limit, limits, limit_profile_id,
                                lease_days, expires_at, created_at)
           select id, substring($2::bytea from (place::int - 1) * ${HASH_BYTES} + 1 for ${HASH_BYTES}), key_hint,
                  $4, $5, $6, $7, $8, $9, $10, $11
           from unnest($1::uuid[], $3::text[]) with ordinality as t (id, key_hint, place)`,
    values: [
      arrayLiteral(licenses.map(({ id }) => id)),
      Buffer.concat(licenses.map(({ keyHash }) => keyHash)),
      arrayLiteral(licenses.map(({ keyHint }) => keyHint)),
      terms.app.id,
      terms.customer,
      terms.seatLimit,
      terms.limits,
      terms.limitProfile?.id ?? null,
      terms.leaseDays,
      terms.expiresAt,
      terms.createdAt,
    ],
  };
}

/** PostgreSQL's text form of an array whose elements need no quotes. */
function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.join(',')}}`;
}
