// Makes the verdict of what is held, of the time, and of what went wrong.
import type { Held } from './held.ts';
import { parseInstant } from './instant.ts';
import type { Limits } from './limits.ts';
import type { UnlicensedReason } from './reasons.ts';
import type { SignedLicense } from './signed-license.ts';
import type { Reading } from './timekeeper.ts';
import type { Problem, Unlicensed, Verdict } from './verdict.ts';

export type Circumstances = {
  readonly time: Reading;
  readonly freeLimits: Limits;
  readonly problem: Problem | undefined;
};

/** A license is good up to, and not at, its ends. */
export function judge(held: Held, { time, freeLimits, problem }: Circumstances): Verdict {
  const refuse = (reason: UnlicensedReason, license?: SignedLicense): Unlicensed => ({
    licensed: false,
    reason,
    limits: freeLimits,
    license,
    problem,
  });
  switch (held.kind) {
    case 'nothing':
      return refuse('no_license');
    case 'unusable':
      return refuse(held.reason);
    case 'ended':
      return refuse(held.record.end.code);
    case 'license': {
      const { license } = held;
      const { expiry, lease } = endsOf(license);
      const end = Math.min(expiry, lease);
      // No clock prolongs what never ends.
      if (time.isSetBack && Number.isFinite(end)) return refuse('clock_set_back', license);
      if (expiry <= time.now) return refuse('license_expired', license);
      if (lease <= time.now) return refuse('lease_over', license);
      const validUntil = Number.isFinite(end) ? new Date(end) : undefined;
      return { licensed: true, license, limits: license.limits ?? NO_LIMITS, validUntil, problem };
    }
  }
}

const NO_LIMITS: Limits = Object.freeze({});

/** Milliseconds since the epoch, infinity for one that the license does not have. */
export function endsOf(license: SignedLicense): { readonly expiry: number; readonly lease: number } {
  return {
    expiry: parseInstant(license.expiresAt) ?? Number.POSITIVE_INFINITY,
    lease: parseInstant(license.leaseExpiresAt) ?? Number.POSITIVE_INFINITY,
  };
}
