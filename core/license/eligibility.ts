// The one question every endpoint asks of a license: is it good now?
import { HubError } from '../errors.ts';

/** What the question is about; times in milliseconds since the epoch. */
export type Standing = { readonly revoked: boolean; readonly expiresAtMs: number | null };

export type LicenseStateName = 'active' | 'revoked' | 'expired';

/** Revoked is the more final answer: it wins over expired. A license is good up to, and not at, its expiry. */
export function licenseState({ revoked, expiresAtMs }: Standing, now: Date): LicenseStateName {
  if (revoked) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= now.getTime() ? 'expired' : 'active';
}

/** The refusal for a license that is not good now, or undefined for one that is. */
export function ineligible(standing: Standing, now: Date): HubError | undefined {
  switch (licenseState(standing, now)) {
    case 'active':
      return undefined;
    case 'revoked':
      return new HubError('license_revoked', 'this license has been revoked');
    case 'expired':
      return new HubError('license_expired', 'this license has expired');
  }
}
