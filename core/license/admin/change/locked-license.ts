// The terms of a license that can change after the sale, and the statements that read and write them.
import type { PoolClient } from 'pg';
import type { Uuid } from '../../../ids.ts';
import type { Limits, Metadata } from '../../terms.ts';

export type ChangeableTerms = {
  readonly customerId: string | null;
  /** -1 means unlimited. */
  readonly seatLimit: number;
  readonly limitProfile: { readonly id: string; readonly name: string } | null;
  /** The license's own limits. */
  readonly limits: Limits | null;
  /** Sorted. */
  readonly features: readonly string[];
  readonly expiresAt: Date | null;
  /** Whether the first activation begins its validity. */
  readonly beginsLater: boolean;
  readonly graceDays: number;
  readonly leaseDays: number | null;
  readonly metadata: Metadata;
  /** Sorted. */
  readonly signedMetadata: readonly string[];
};

export type LockedLicense = {
  readonly id: Uuid;
  readonly app: { readonly id: string; readonly slug: string; readonly defaultSeatLimit: number };
  readonly terms: ChangeableTerms;
  readonly termsVersion: number;
  readonly isRevoked: boolean;
  /** Null unless it is suspended. */
  readonly suspendReason: string | null;
};

/** Locks a license until the end of the transaction. Undefined if there is none. */
export async function lockLicense(client: PoolClient, id: Uuid): Promise<LockedLicense | undefined> {
  const { rows } = await client.query<LockedRow>({
    name: 'lock_license',
    // license_pkey, app_pkey, limit_profile_pkey
    text: `select l.app_id as "appId", a.slug, a.default_seat_limit as "defaultSeatLimit",
                  l.customer_id as "customerId", l.seat_limit as "seatLimit",
                  p.id as "limitProfileId", p.name as "limitProfileName", l.limits, l.features,
                  (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs",
                  l.valid_for is not null as "beginsLater", l.grace_days as "graceDays",
                  l.lease_days as "leaseDays", l.metadata, l.signed_metadata as "signedMetadata",
                  l.terms_version as "termsVersion", l.revoked_at is not null as "isRevoked",
                  case when l.suspended_at is not null then coalesce(l.suspend_reason, '') end
                    as "suspendReason"
           from license l join app a on a.id = l.app_id left join limit_profile p on p.id = l.limit_profile_id
           where l.id = $1 for no key update of l`,
    values: [id],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { appId, slug, defaultSeatLimit, termsVersion, isRevoked, suspendReason, ...rest } = row;
  const { limitProfileId, limitProfileName, expiresAtMs, ...terms } = rest;
  return {
    id,
    app: { id: appId, slug, defaultSeatLimit },
    terms: {
      ...terms,
      limitProfile: limitProfileId === null ? null : { id: limitProfileId, name: limitProfileName ?? '' },
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs),
    },
    termsVersion,
    isRevoked,
    suspendReason,
  };
}

type LockedRow = Omit<ChangeableTerms, 'limitProfile' | 'expiresAt'> &
  Pick<LockedLicense, 'termsVersion' | 'isRevoked' | 'suspendReason'> & {
    readonly appId: string;
    readonly slug: string;
    readonly defaultSeatLimit: number;
    readonly limitProfileId: string | null;
    readonly limitProfileName: string | null;
    readonly expiresAtMs: number | null;
  };

/** Writes the terms of a locked license as its next version. */
export async function writeTerms(client: PoolClient, id: Uuid, terms: ChangeableTerms): Promise<void> {
  await client.query({
    name: 'write_license_terms',
    // license_pkey
    text: `update license
           set customer_id = $2, seat_limit = $3, limit_profile_id = $4, limits = $5, features = $6,
               expires_at = $7, valid_for = case when $8 then valid_for end, grace_days = $9,
               lease_days = $10, metadata = $11, signed_metadata = $12, terms_version = terms_version + 1
           where id = $1`,
    values: [
      id,
      terms.customerId,
      terms.seatLimit,
      terms.limitProfile?.id ?? null,
      terms.limits && JSON.stringify(terms.limits),
      terms.features,
      terms.expiresAt,
      terms.beginsLater,
      terms.graceDays,
      terms.leaseDays,
      JSON.stringify(terms.metadata),
      terms.signedMetadata,
    ],
  });
}
