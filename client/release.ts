// Releases the seats that this machine left by activating with another license key.
import { LicenseError } from './errors.ts';
import type { HubCalls } from './hub-calls.ts';
import type { Keeper } from './keeper.ts';
import { isSameKey } from './license-key.ts';
import { type LicenseRecord, recordIn } from './record.ts';
import type { Signal } from './signal.ts';

/** Releases what the record names. Rejects with LicenseError, and the rest stays named. */
export type ReleaseLeft = (signal?: Signal) => Promise<void>;

export function createReleaseLeft(calls: HubCalls, keeper: Keeper): ReleaseLeft {
  return async (signal) => {
    // What the store still has is not given up, lest a restart finds a license without its seat.
    if (keeper.problem !== undefined) return;
    for (const licenseKey of recordIn(keeper.held)?.toRelease ?? []) {
      try {
        await calls.deactivate(licenseKey, signal);
      } catch (error) {
        if (!isFinal(error)) throw error;
      }
      await keeper.change((held) => withoutLeft(recordIn(held), licenseKey));
    }
  };
}

/** The record without a key that is to be released; undefined if it has no such key. */
export function withoutLeft(
  record: LicenseRecord | undefined,
  licenseKey: string,
): LicenseRecord | undefined {
  if (!record?.toRelease?.some((left) => isSameKey(left, licenseKey))) return undefined;
  const { toRelease, ...rest } = record;
  const others = toRelease.filter((left) => !isSameKey(left, licenseKey));
  return { ...rest, ...(others.length > 0 && { toRelease: others }) };
}

/** The hub has refused, and would again: there is no such seat. */
function isFinal(error: unknown): boolean {
  return error instanceof LicenseError && error.status !== undefined && !error.isRetryable;
}
