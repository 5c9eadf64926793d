// The state of a license: active, in its grace, expired, suspended or revoked.

import { DAY_MS } from '../clock.ts';
import { HubError } from '../errors.ts';

/** Times are in milliseconds since the epoch. */
type LicenseFacts = {
  readonly revoked: boolean;
  readonly suspended: boolean;
  readonly expiresAtMs: number | null;
  readonly graceDays: number;
};

export type LicenseStateName = 'active' | 'grace' | 'expired' | 'suspended' | 'revoked';

/** When the grace ends, in milliseconds since the epoch; null without an expiry or without grace. */
export function graceEndsAtMs(license: Pick<LicenseFacts, 'expiresAtMs' | 'graceDays'>): number | null {
  const { expiresAtMs, graceDays } = license;
  return expiresAtMs === null || graceDays === 0 ? null : expiresAtMs + graceDays * DAY_MS;
}

type ExpiryFacts = Pick<LicenseFacts, 'revoked' | 'graceDays'> & {
  readonly expiresAt?: Date | null | undefined;
};

/**
 * When a license expires after its grace, in milliseconds since the epoch. Infinite for one that is revoked
 * or has no expiry. A suspension does not delay the expiry.
 */
export function expiryEndMs({ revoked, expiresAt, graceDays }: ExpiryFacts): number {
  return revoked || !expiresAt ? Number.POSITIVE_INFINITY : expiresAt.getTime() + graceDays * DAY_MS;
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
