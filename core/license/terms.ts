// The terms of a license: its state, its limits, and the columns that hold them.
import { HubError, type SeatUsage } from '../errors.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = Readonly<Record<string, number>>;

/** The vendor's own data about a license or a customer. */
export type Metadata = Readonly<Record<string, string>>;

/** The terms that a signed license states. */
export type LicenseTerms = {
  readonly licenseId: string;
  readonly app: string;
  readonly customer: string | null;
  readonly limits: Limits | null;
  readonly profileLimits: Limits | null;
  readonly features: readonly string[];
  /** The entries of the license's metadata that a signed license contains. Null if there are none. */
  readonly signedMetadata: Metadata | null;
  readonly leaseDays: number | null;
  readonly expiresAtMs: number | null;
  readonly graceDays: number;
  /** Counts the changes of the terms, from 1. */
  readonly termsVersion: number;
  /** Id of the app's active signing key. */
  readonly kid: string;
};

/** Times are in milliseconds since the epoch. */
type LicenseFacts = {
  readonly revoked: boolean;
  readonly suspended: boolean;
  readonly expiresAtMs: number | null;
  readonly graceDays: number;
};

export type LicenseStateName = 'active' | 'grace' | 'expired' | 'suspended' | 'revoked';

export const DAY_MS = 24 * 60 * 60 * 1000;

/** When the grace ends, in milliseconds since the epoch; null without an expiry or without grace. */
export function graceEndsAtMs({
  expiresAtMs,
  graceDays,
}: Pick<LicenseFacts, 'expiresAtMs' | 'graceDays'>): number | null {
  return expiresAtMs === null || graceDays === 0 ? null : expiresAtMs + graceDays * DAY_MS;
}

/**
 * Revoked comes before suspended, and suspended before expired. A license expires at its expiry, not after.
 */
export function licenseState(license: LicenseFacts, now: Date): LicenseStateName {
  if (license.revoked) return 'revoked';
  if (license.suspended) return 'suspended';
  const { expiresAtMs } = license;
  if (expiresAtMs === null || expiresAtMs > now.getTime()) return 'active';
  return (graceEndsAtMs(license) ?? 0) > now.getTime() ? 'grace' : 'expired';
}

/** The error for a license that machines cannot use; undefined for one that is active or in its grace. */
export function ineligible(license: LicenseFacts, now: Date): HubError | undefined {
  switch (licenseState(license, now)) {
    case 'active':
    case 'grace':
      return undefined;
    case 'revoked':
      return new HubError('license_revoked', 'this license has been revoked');
    case 'suspended':
      return new HubError('license_suspended', 'this license is suspended');
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
 * Whether a text can name a limit, a feature or an entry of metadata: an ASCII letter, then up to 63 letters,
 * digits, dots, dashes and underscores. JSON parsers reorder or drop names such as "9" or "__proto__", which
 * would break the signature.
 */
export function isTermName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name);
}

/** Whether the license has a free seat. -1 means unlimited. */
export function hasFreeSeat({ limit, used }: SeatUsage): boolean {
  return limit === UNLIMITED || used < limit;
}
