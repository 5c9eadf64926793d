// The verdict: whether this machine is licensed at this moment, and with which limits.
import type { LicenseErrorCode } from './errors.ts';
import type { Limits } from './limits.ts';
import type { UnlicensedReason } from './reasons.ts';
import type { SignedLicense } from './signed-license.ts';

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

export type Problem = {
  readonly code: LicenseErrorCode;
  readonly message: string;
  readonly isRetryable: boolean;
};

/** The verdict, and what became of the seat of the license that was held before. */
export type Activated = Verdict & { readonly previousSeat: PreviousSeat };

/**
 * `none`: no other license was held. `released`. `pending`: it could not be released now, and the client tries again by
 * itself. `left`: the key of that license was not kept; release the seat by `deactivate({ licenseKey })`.
 */
export type PreviousSeat = 'none' | 'released' | 'pending' | 'left';
