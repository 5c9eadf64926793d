// Limits: the numbers a license grants by name, the profile they may come from, and the count of seats.
import type { SeatUsage } from '../errors.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = Readonly<Record<string, number>>;

const UNLIMITED = -1;

/** The limits in force: those of the profile, overridden by the license's own. Undefined if there are neither. */
export function effectiveLimits(profile: Limits | undefined, own: Limits | undefined): Limits | undefined {
  return profile || own ? { ...profile, ...own } : undefined;
}

/**
 * Whether a text can name a limit: a letter, then up to 63 letters, digits, dots, dashes and underscores, all ASCII.
 * Names such as "9" or "__proto__" would be re-ordered or swallowed by JSON parsers, and the signature would break.
 */
export function isLimitName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name);
}

/** Whether another machine may be seated. A limit of -1 never runs out, one of 0 has no seat at all. */
export function hasFreeSeat({ limit, used }: SeatUsage): boolean {
  return limit === UNLIMITED || used < limit;
}
