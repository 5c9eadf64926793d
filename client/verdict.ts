// The verdict: whether this machine is licensed at this moment, and with which limits.
import type { LicenseErrorCode } from './errors.ts';
import { type Held, UNUSABLE_REASONS } from './held.ts';
import { parseInstant } from './instant.ts';
import type { Limits } from './limits.ts';
import { END_CODES } from './record.ts';
import type { SignedLicense } from './signed-license.ts';
import type { Reading } from './timekeeper.ts';

/** Plain data: it goes through Electron's IPC as it is. */
export type Verdict = Licensed | Unlicensed;

export type Licensed = {
  readonly licensed: true;
  readonly license: SignedLicense;
  /** Those of the license; -1 means unlimited. Empty if it names none. */
  readonly limits: Limits;
  /** The license, or the lease of this copy, ends then. Undefined: never. */
  readonly validUntil: Date | undefined;
  /** Why the hub could not be asked, or the record not be kept, the last time: until `validUntil` that is no matter. */
  readonly problem: Problem | undefined;
};

export type Unlicensed = {
  readonly licensed: false;
  readonly reason: UnlicensedReason;
  /** Those of the Free profile, which the application has to enforce. */
  readonly limits: Limits;
  /** The license that would be there but for the time: its signature, app and machine are right. */
  readonly license: SignedLicense | undefined;
  readonly problem: Problem | undefined;
};

export const UNLICENSED_REASONS = [
  'no_license',
  ...END_CODES,
  'lease_over',
  'clock_set_back',
  ...UNUSABLE_REASONS,
] as const;

export type UnlicensedReason = (typeof UNLICENSED_REASONS)[number];

export type Problem = {
  readonly code: LicenseErrorCode;
  readonly message: string;
  readonly isRetryable: boolean;
};

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
