// Computes the verdict from the license state, the time and the last problem.

import type { Limits } from '../license/limits.ts';
import { parseRfc3339 } from '../license/rfc3339.ts';
import type { SignedLicense } from '../license/signed-license.ts';
import type { LicenseState } from '../state/license-state.ts';
import type { TimeReading } from '../state/trusted-time.ts';
import type { UnlicensedReason } from './reasons.ts';
import type { Problem, Unlicensed, Verdict } from './verdict.ts';

export type Conditions = {
  readonly time: TimeReading;
  readonly freeLimits: Limits;
  readonly problem: Problem | undefined;
};

/** A license is valid before, not at, its expiry and lease end. */
export function evaluate(state: LicenseState, { time, freeLimits, problem }: Conditions): Verdict {
  const refuse = (reason: UnlicensedReason, license?: SignedLicense): Unlicensed => ({
    licensed: false,
    reason,
    limits: freeLimits,
    license,
    problem,
  });
  switch (state.kind) {
    case 'nothing':
      return refuse('no_license');
    case 'unusable':
      return refuse(state.reason);
    case 'ended':
      return refuse(state.record.end.code);
    case 'license': {
      const { license } = state;
      const { expiry, lease } = endTimes(license);
      const end = Math.min(expiry, lease);
      // The clock does not matter to a license without an end.
      if (time.isSetBack && Number.isFinite(end)) return refuse('clock_set_back', license);
      if (expiry <= time.now) return refuse('license_expired', license);
      if (lease <= time.now) return refuse('lease_over', license);
      const validUntil = Number.isFinite(end) ? new Date(end) : undefined;
      return { licensed: true, license, limits: license.limits ?? NO_LIMITS, validUntil, problem };
    }
  }
}

const NO_LIMITS: Limits = Object.freeze({});

/** Milliseconds since the epoch; infinity if the license has no such end. */
export function endTimes(license: SignedLicense): { readonly expiry: number; readonly lease: number } {
  return {
    expiry: parseRfc3339(license.expiresAt) ?? Number.POSITIVE_INFINITY,
    lease: parseRfc3339(license.leaseExpiresAt) ?? Number.POSITIVE_INFINITY,
  };
}
