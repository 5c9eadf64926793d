// Named integer limits of a license or of the Free profile.

import { isJsonObject, MEMBER_NAME } from './strict-json.ts';

/** Limits by name; -1 means unlimited. */
export type Limits = { readonly [name: string]: number };

/** @internal */
export const UNLIMITED = -1;

/**
 * Whether one more may be used when `used` are in use. -1 and a missing limit mean unlimited; 0 means none.
 */
export function hasRoom(limits: Limits, name: string, used: number): boolean {
  const limit = Object.hasOwn(limits, name) ? (limits[name] ?? UNLIMITED) : UNLIMITED;
  return limit === UNLIMITED || used < limit;
}

/** Reads limits from JSON and freezes them; undefined if they are not named integers. @internal */
export function readLimits(value: unknown): Limits | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const areLimits = entries.every(
    (entry): entry is [string, number] => MEMBER_NAME.test(entry[0]) && Number.isSafeInteger(entry[1]),
  );
  return areLimits ? Object.freeze(Object.fromEntries(entries)) : undefined;
}
