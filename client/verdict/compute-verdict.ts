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

/** A license is valid before, not at, its end and its lease end. */
export function computeVerdict(state: LicenseState, { time, freeLimits, problem }: Conditions): Verdict {
  const refuse = (reason: UnlicensedReason, license?: SignedLicense): Unlicensed => ({
    licensed: false,
    reason,
    limits: freeLimits,
    features: NO_FEATURES,
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
      const { license, record } = state;
      if (record.isSuspended) return refuse('license_suspended', license);
      const { expiry, graceEnd, lease } = endTimes(license);
      const end = Math.min(graceEnd, lease);
      // The clock does not matter to a license without an end.
      if (time.isSetBack && Number.isFinite(end)) return refuse('clock_set_back', license);
      if (graceEnd <= time.now) return refuse('license_expired', license);
      if (lease <= time.now) return refuse('lease_over', license);
      const validUntil = Number.isFinite(end) ? new Date(end) : undefined;
      const inGraceUntil = expiry <= time.now ? new Date(graceEnd) : undefined;
      const { limits = NO_LIMITS, features = NO_FEATURES } = license;
      return { licensed: true, license, limits, features, validUntil, inGraceUntil, problem };
    }
  }
}

const NO_LIMITS: Limits = Object.freeze({});
const NO_FEATURES: readonly string[] = Object.freeze([]);

export type EndTimes = {
  readonly expiry: number;
  /** The expiry of a license without grace. */
  readonly graceEnd: number;
  readonly lease: number;
};

/** Milliseconds since the epoch; infinity if the license has no such end. */
export function endTimes(license: SignedLicense): EndTimes {
  const expiry = parseRfc3339(license.expiresAt) ?? Number.POSITIVE_INFINITY;
  return {
    expiry,
    graceEnd: Math.max(expiry, parseRfc3339(license.graceEndsAt) ?? expiry),
    lease: parseRfc3339(license.leaseExpiresAt) ?? Number.POSITIVE_INFINITY,
  };
}
