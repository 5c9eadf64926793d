// The terms of a license, its limits, and the columns that hold them. Its state is in state.ts.
import type { SeatUsage } from '../errors.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = Readonly<Record<string, number>>;

/** The vendor's own data about a license or a customer. */
export type Metadata = Readonly<Record<string, string>>;

/** The terms that a signed license states. */
export type LicenseTerms = {
  readonly licenseId: string;
  readonly app: string;
  readonly customer: string | null;
  readonly limits: Limits | null;
  readonly profileLimits: Limits | null;
  readonly features: readonly string[];
  /** The entries of the license's metadata that a signed license contains. Null if there are none. */
  readonly signedMetadata: Metadata | null;
  readonly leaseDays: number | null;
  readonly expiresAtMs: number | null;
  readonly graceDays: number;
  /** Counts the changes of the terms, from 1. */
  readonly termsVersion: number;
  /** Id of the app's active signing key. */
  readonly kid: string;
};

export const UNLIMITED = -1;
/** The type of the column. */
export const MAX_SEATS = 2 ** 31 - 1;

/** The limits of the profile, overridden by the license's own. Undefined if there are neither. */
export function effectiveLimits(profile: Limits | undefined, own: Limits | undefined): Limits | undefined {
  return profile || own ? { ...profile, ...own } : undefined;
}

/**
 * Whether a text can name a limit, a feature or an entry of metadata: an ASCII letter, then up to 63 letters,
 * digits, dots, dashes and underscores. JSON parsers reorder or drop names such as "9" or "__proto__", which
 * would break the signature.
 */
export function isTermName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name);
}

/** Whether the license has a free seat. -1 means unlimited. */
export function hasFreeSeat({ limit, used }: SeatUsage): boolean {
  return limit === UNLIMITED || used < limit;
}
