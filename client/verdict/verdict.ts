// The verdict: whether this machine is licensed now, with which limits and features.
import type { LicenseErrorCode } from '../errors.ts';
import type { Limits } from '../license/limits.ts';
import type { SignedLicense } from '../license/signed-license.ts';
import type { UnlicensedReason } from './reasons.ts';

/** Plain data, which can be sent through Electron's IPC. */
export type Verdict = Licensed | Unlicensed;

export type Licensed = {
  readonly licensed: true;
  readonly license: SignedLicense;
  /** Limits of the license; -1 means unlimited. Empty if it has none. */
  readonly limits: Limits;
  /** Names of the features that the license unlocks. Empty if it has none. */
  readonly features: readonly string[];
  /** End of the license with its grace, or of its lease, whichever is earlier. Undefined: never. */
  readonly validUntil: Date | undefined;
  /** The license has passed its `expiresAt`, and its grace ends then. Undefined: it is not in its grace. */
  readonly inGraceUntil: Date | undefined;
  /** Why the last soft check or save failed. The license stays valid until `validUntil`. */
  readonly problem: Problem | undefined;
};

export type Unlicensed = {
  readonly licensed: false;
  readonly reason: UnlicensedReason;
  /** Free limits, which the application must enforce. */
  readonly limits: Limits;
  /** Empty. */
  readonly features: readonly string[];
  /** The license that is suspended, has expired or whose lease is over, otherwise valid. */
  readonly license: SignedLicense | undefined;
  readonly problem: Problem | undefined;
};

export type Problem = {
  readonly code: LicenseErrorCode;
  readonly message: string;
  readonly isRetryable: boolean;
};

/** The verdict, and the state of the seat of the replaced license. */
export type Activated = Verdict & { readonly previousSeat: PreviousSeat };

/**
 * `none`: no license was replaced. `released`: its seat is released. `pending`: the release failed, and the client retries
 * it. `left`: its key is not stored, or the license has a new one; call `deactivate({ licenseKey })` to release the seat.
 */
export type PreviousSeat = 'none' | 'released' | 'pending' | 'left';
