// Locks a license, and reads and writes the terms and the state that can change after the sale.
import type { Pool, PoolClient } from 'pg';
import { unknownId } from '../../../errors.ts';
import { parseId, type Uuid } from '../../../ids.ts';
import { dateOf, epochMs } from '../../../storage/sql/epoch.ts';
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
  /** Whether the validity begins at the first activation. */
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
  /** The number of active machines. */
  readonly seatsUsed: number;
  readonly state: LicenseState;
};

/** The revocation and the suspension; null without one. The expiry is part of the terms. */
export type LicenseState = {
  readonly revoked: Decision | null;
  readonly suspended: Decision | null;
};

export type Decision = { readonly at: Date; readonly reason: string };

/** Locks a license until the end of the transaction. @throws HubError `license_unknown` */
export function lockLicense(client: PoolClient, licenseId: string): Promise<LockedLicense> {
  return read(client, licenseId, { locks: true });
}

/** Reads a license without a lock: it may change at any time. @throws HubError `license_unknown` */
export function readLicense(pool: Pool, licenseId: string): Promise<LockedLicense> {
  return read(pool, licenseId, { locks: false });
}

async function read(
  db: Pool | PoolClient,
  licenseId: string,
  { locks }: { readonly locks: boolean },
): Promise<LockedLicense> {
  const id = parseId('lic', licenseId);
  const { rows } = await db.query<LockedRow>({
    name: locks ? 'lock_license' : 'read_license',
    // license_pkey, app_pkey, limit_profile_pkey. The profile is not joined: after waiting for the lock,
    // PostgreSQL joins the new license with the profile of the old one.
    text: `select l.app_id as "appId", a.slug, a.default_seat_limit as "defaultSeatLimit",
                  l.customer_id as "customerId", l.seat_limit as "seatLimit",
                  l.limit_profile_id as "limitProfileId",
                  (select name from limit_profile where id = l.limit_profile_id) as "limitProfileName",
                  l.limits, l.features,
                  ${epochMs('l.expires_at')} as "expiresAtMs",
                  l.valid_for is not null as "beginsLater", l.grace_days as "graceDays",
                  l.lease_days as "leaseDays", l.metadata, l.signed_metadata as "signedMetadata",
                  l.terms_version as "termsVersion", l.seats_used as "seatsUsed",
                  ${epochMs('l.revoked_at')} as "revokedAtMs",
                  coalesce(l.revoke_reason, '') as "revokeReason",
                  ${epochMs('l.suspended_at')} as "suspendedAtMs",
                  coalesce(l.suspend_reason, '') as "suspendReason"
           from license l join app a on a.id = l.app_id
           where l.id = $1 ${locks ? 'for no key update of l' : ''}`,
    values: [id ?? null],
  });
  const [row] = rows;
  if (id === undefined || row === undefined) throw unknownId('lic');
  const { appId, slug, defaultSeatLimit, termsVersion, seatsUsed, ...rest } = row;
  const { revokedAtMs, revokeReason, suspendedAtMs, suspendReason, ...others } = rest;
  const { limitProfileId, limitProfileName, expiresAtMs, ...terms } = others;
  return {
    id,
    app: { id: appId, slug, defaultSeatLimit },
    terms: {
      ...terms,
      limitProfile: limitProfileId === null ? null : { id: limitProfileId, name: limitProfileName ?? '' },
      expiresAt: dateOf(expiresAtMs),
    },
    termsVersion,
    seatsUsed,
    state: {
      revoked: decisionOf(revokedAtMs, revokeReason),
      suspended: decisionOf(suspendedAtMs, suspendReason),
    },
  };
}

function decisionOf(atMs: number | null, reason: string): Decision | null {
  return atMs === null ? null : { at: new Date(atMs), reason };
}

type LockedRow = Omit<ChangeableTerms, 'limitProfile' | 'expiresAt'> &
  Pick<LockedLicense, 'termsVersion' | 'seatsUsed'> & {
    readonly revokedAtMs: number | null;
    readonly revokeReason: string;
    readonly suspendedAtMs: number | null;
    readonly suspendReason: string;
    readonly appId: string;
    readonly slug: string;
    readonly defaultSeatLimit: number;
    readonly limitProfileId: string | null;
    readonly limitProfileName: string | null;
    readonly expiresAtMs: number | null;
  };

/** Writes the terms of a locked license, and increments its terms version. */
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

export async function writeState(
  client: PoolClient,
  id: Uuid,
  { revoked, suspended }: LicenseState,
): Promise<void> {
  await client.query({
    name: 'write_license_state',
    // license_pkey
    text: `update license
           set revoked_at = $2, revoke_reason = $3, suspended_at = $4, suspend_reason = $5
           where id = $1`,
    values: [
      id,
      revoked?.at ?? null,
      revoked?.reason ?? null,
      suspended?.at ?? null,
      suspended?.reason ?? null,
    ],
  });
}
