// State of a license: active, revoked or expired.
import { HubError } from '../../errors.ts';

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
