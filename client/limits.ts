// Limits: the numbers that a license, or the Free profile, grants by name.

/** Limits by name; -1 means unlimited. */
export type Limits = { readonly [name: string]: number };

export const UNLIMITED = -1;

/**
 * Whether one more may be used, given how many are. A limit of -1 never runs out, one of 0 has nothing to give, and
 * what has no limit by that name is not limited: limits are optional.
 */
export function hasRoom(limits: Limits, name: string, used: number): boolean {
  const limit = Object.hasOwn(limits, name) ? (limits[name] ?? UNLIMITED) : UNLIMITED;
  return limit === UNLIMITED || used < limit;
}

/** Reads limits out of JSON, frozen; undefined if they are not integers by name. */
export function readLimits(value: unknown): Limits | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  if (!entries.every(([name, limit]) => LIMIT_NAME.test(name) && Number.isSafeInteger(limit)))
    return undefined;
  return Object.freeze(Object.fromEntries(entries));
}

/** A letter, then up to 63 letters, digits, dots, dashes and underscores. */
export const LIMIT_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
