// The terms of a license: its state, its limits, and the columns that hold them.
import { HubError, type SeatUsage } from '../errors.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = Readonly<Record<string, number>>;

/** The terms that a signed license states. */
export type LicenseTerms = {
  readonly licenseId: string;
  readonly app: string;
  readonly customer: string | null;
  readonly limits: Limits | null;
  readonly profileLimits: Limits | null;
  readonly leaseDays: number | null;
  readonly expiresAtMs: number | null;
  /** Id of the app's active signing key. */
  readonly kid: string;
};

/** The columns of `LicenseTerms`, and the joins they need; `l` is the license. */
export const TERMS = `
  l.id as "licenseId", a.slug as app, l.customer, l.limits, p.limits as "profileLimits",
  l.lease_days as "leaseDays", (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs", k.kid`;
export const TERMS_JOINS = `
  join app a on a.id = l.app_id
  join signing_key k on k.app_id = l.app_id and k.retired_at is null
  left join limit_profile p on p.id = l.limit_profile_id`;

/** Times are in milliseconds since the epoch. */
type LicenseTimes = { readonly revoked: boolean; readonly expiresAtMs: number | null };

export type LicenseStateName = 'active' | 'revoked' | 'expired';

/** A license that is both revoked and expired counts as revoked. It expires at `expiresAtMs`, not after. */
export function licenseState({ revoked, expiresAtMs }: LicenseTimes, now: Date): LicenseStateName {
  if (revoked) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= now.getTime() ? 'expired' : 'active';
}

/** The error for a license that is revoked or expired; undefined for an active one. */
export function ineligible(license: LicenseTimes, now: Date): HubError | undefined {
  switch (licenseState(license, now)) {
    case 'active':
      return undefined;
    case 'revoked':
      return new HubError('license_revoked', 'this license has been revoked');
    case 'expired':
      return new HubError('license_expired', 'this license has expired');
  }
}

const UNLIMITED = -1;

/** The limits of the profile, overridden by the license's own. Undefined if there are neither. */
export function effectiveLimits(profile: Limits | undefined, own: Limits | undefined): Limits | undefined {
  return profile || own ? { ...profile, ...own } : undefined;
}

/**
 * A name is an ASCII letter, then up to 63 letters, digits, dots, dashes and underscores. JSON parsers
 * reorder or drop names such as "9" or "__proto__", which would break the signature.
 */
export function isLimitName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name);
}

/** Whether the license has a free seat. -1 means unlimited. */
export function hasFreeSeat({ limit, used }: SeatUsage): boolean {
  return limit === UNLIMITED || used < limit;
}
