// Decides what a renewal or more seats change about a license. Pure: reads and writes nothing.
import { HubError } from '../../errors.ts';
import type { ChangeableTerms, LockedLicense } from '../../license/admin/change/locked-license.ts';
import { renewedTerms } from '../../license/admin/change/renew-license.ts';
import { MAX_SEATS, UNLIMITED } from '../../license/terms.ts';
import type { RenewalGrant, SeatsGrant } from '../offers/grant.ts';

/** The terms of the license with the grant, or the reason why it cannot be granted, as a sentence. */
export type GrantResult = { readonly terms: ChangeableTerms } | { readonly blocked: string };

/** @param quantity how many units were bought */
export function grantOnLicense(
  license: LockedLicense,
  grant: RenewalGrant | SeatsGrant,
  quantity: number,
  now: Date,
): GrantResult {
  return grant.kind === 'renewal' ? renew(license, grant, quantity, now) : addSeats(license, grant, quantity);
}

function renew(license: LockedLicense, { by }: RenewalGrant, quantity: number, now: Date): GrantResult {
  const period = { years: by.years * quantity, months: by.months * quantity, days: by.days * quantity };
  try {
    return { terms: renewedTerms(license, { by: period }, now) };
  } catch (error) {
    if (error instanceof HubError) return { blocked: error.message };
    throw error;
  }
}

function addSeats({ terms, state }: LockedLicense, { seats }: SeatsGrant, quantity: number): GrantResult {
  if (state.revoked) return { blocked: 'this license has been revoked: reinstate it before you add seats' };
  if (terms.seatLimit === UNLIMITED) return { blocked: 'this license has unlimited seats' };
  const seatLimit = terms.seatLimit + seats * quantity;
  if (seatLimit > MAX_SEATS) return { blocked: `a license has at most ${MAX_SEATS} seats` };
  return { terms: { ...terms, seatLimit } };
}
