// Limits of a license: named numbers from the license and its profile, and the seat limit.
import type { SeatUsage } from '../../errors.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = Readonly<Record<string, number>>;

const UNLIMITED = -1;

/** The limits of the profile, overridden by the license's own. Undefined if there are neither. */
export function effectiveLimits(profile: Limits | undefined, own: Limits | undefined): Limits | undefined {
  return profile || own ? { ...profile, ...own } : undefined;
}

/**
 * A name is an ASCII letter, then up to 63 letters, digits, dots, dashes and underscores. JSON parsers
 * reorder or drop names such as "9" or "__proto__", which would break the signature.
 */
export function isLimitName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name);
}

/** Whether the license has a free seat. -1 means unlimited. */
export function hasFreeSeat({ limit, used }: SeatUsage): boolean {
  return limit === UNLIMITED || used < limit;
}
