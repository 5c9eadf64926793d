// The content of the license that an activation signs.
import { DAY_MS } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import type { LicenseContent } from '../keys/sign-license.ts';
import { graceEndsAtMs } from '../state.ts';
import { effectiveLimits } from '../terms.ts';
import type { LicenseWithSeat } from './find-or-allocate-seats.ts';

/** A license, the seat of the machine, and the time of the activation. */
export type Seated = { readonly license: LicenseWithSeat; readonly seatId: string; readonly at: Date };

/** The terms that apply at the time of the activation, and when the lease and the grace period end. */
export function licenseContent({ license, seatId, at }: Seated, machineFingerprint: string): LicenseContent {
  const { customer, features, signedMetadata, termsVersion, expiresAtMs, leaseDays } = license;
  const graceEndsMs = graceEndsAtMs(license);
  const limits = effectiveLimits(license.profileLimits ?? undefined, license.limits ?? undefined);
  return {
    licenseId: formatId('lic', license.licenseId),
    app: license.app,
    seatId: formatId('seat', seatId),
    machineFingerprint,
    ...(customer !== null && { customer }),
    ...(limits && { limits }),
    ...(features.length > 0 && { features: [...features] }),
    ...(signedMetadata !== null && { metadata: signedMetadata }),
    termsVersion,
    issuedAt: at.toISOString(),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs).toISOString() }),
    ...(graceEndsMs !== null && { graceEndsAt: new Date(graceEndsMs).toISOString() }),
    ...(leaseDays !== null && { leaseExpiresAt: new Date(at.getTime() + leaseDays * DAY_MS).toISOString() }),
    kid: license.kid,
  };
}
