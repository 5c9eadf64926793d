// Releases the seats of licenses that this machine has replaced by another.

import type { Signal } from '../abort-signal.ts';
import { LicenseError } from '../errors.ts';
import { isSameKey } from '../license/license-key.ts';
import { recordOf } from '../state/license-state.ts';
import type { LicenseRecord } from '../state/record.ts';
import type { RecordCache } from '../state/record-cache.ts';
import type { HubCalls } from './hub-calls.ts';

/**
 * Releases the seats in the record. Releases none if the record could not be saved, except with `isClearing`: the caller
 * removes the record next. Resolves to false if the hub does not know the last key. Its license may have a new key then,
 * and still hold the seat. Rejects with LicenseError; the record keeps the seats that remain.
 */
export type ReleaseSeats = (signal?: Signal, options?: { readonly isClearing?: boolean }) => Promise<boolean>;

export function createReleaseSeats(calls: HubCalls, recordCache: RecordCache): ReleaseSeats {
  return async (signal, { isClearing } = {}) => {
    // The store may still hold the old license: keep its seat until the new record is saved.
    if (recordCache.problem !== undefined && !isClearing) return true;
    let isLastKeyKnown = true;
    for (const licenseKey of recordOf(recordCache.state)?.toRelease ?? []) {
      try {
        await calls.deactivate(licenseKey, signal);
        isLastKeyKnown = true;
      } catch (error) {
        if (!isPermanentRefusal(error)) throw error;
        isLastKeyKnown = error.code !== 'license_key_unknown';
      }
      await recordCache.update((state) => withoutPendingRelease(recordOf(state), licenseKey));
    }
    return isLastKeyKnown;
  };
}

/** The record without this pending release; undefined if the record does not contain it. */
export function withoutPendingRelease(
  record: LicenseRecord | undefined,
  licenseKey: string,
): LicenseRecord | undefined {
  if (!record?.toRelease?.some((left) => isSameKey(left, licenseKey))) return undefined;
  const { toRelease, ...rest } = record;
  const others = toRelease.filter((left) => !isSameKey(left, licenseKey));
  return { ...rest, ...(others.length > 0 && { toRelease: others }) };
}

/** The hub refused permanently: no seat can be released with this key. */
function isPermanentRefusal(error: unknown): error is LicenseError {
  return error instanceof LicenseError && error.status !== undefined && !error.isRetryable;
}
