// Activates this machine and releases its seat.

import type { Signal } from './abort-signal.ts';
import { LicenseError } from './errors.ts';
import type { HubCalls } from './hub/hub-calls.ts';
import { obtainLicense } from './hub/obtain-license.ts';
import type { CallContext } from './hub/recheck.ts';
import { withoutPendingRelease } from './hub/release-seats.ts';
import { createRecord, findSeatedLicense } from './hub/soft-check.ts';
import { hashOfKey, isKeyOf, isSameKey } from './license/license-key.ts';
import type { Expected } from './license/verify-license.ts';
import { type LicenseState, recordOf } from './state/license-state.ts';
import type { LicenseRecord } from './state/record.ts';
import type { Activated, PreviousSeat, Verdict } from './verdict/verdict.ts';

/** Both reject with LicenseError and then keep the stored license. */
export type Activation = {
  activate(licenseKey: string, options?: { readonly signal?: Signal | undefined }): Promise<Activated>;
  deactivate(options?: {
    readonly licenseKey?: string | undefined;
    readonly signal?: Signal | undefined;
  }): Promise<Verdict>;
};

export type ActivationOptions = CallContext & {
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly keepLicenseKey: boolean;
};

export function createActivation(options: ActivationOptions): Activation {
  const { recordCache, calls, expected, trustedTime, backOff, softCheck, releaseSeats, publisher, hubQueue } =
    options;

  const keyFields = async (
    licenseKey: string,
  ): Promise<Pick<LicenseRecord, 'licenseKey' | 'licenseKeyHash'>> =>
    options.keepLicenseKey ? { licenseKey } : { licenseKeyHash: await hashOfKey(licenseKey) };

  /** The hub succeeded. @throws LicenseError `store_failed` if the record could not be saved */
  const publishSaved = (): Verdict => {
    const verdict = publisher.publish();
    if (recordCache.problem !== undefined) throw recordCache.problem;
    return verdict;
  };

  /** Does what follows a successful call. A failure does not fail that call: the client retries later. */
  const followUp = async <T>(work: Promise<T>): Promise<T | undefined> => {
    backOff.succeeded();
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof LicenseError)) throw error;
      if (error.code !== 'aborted') backOff.failed(error);
      return undefined;
    }
  };

  return {
    activate: (licenseKey, { signal } = {}) =>
      hubQueue(async () => {
        checkKey(licenseKey);
        await recordCache.reload();
        const replaced: { seat: PreviousSeat } = { seat: 'none' };
        try {
          const verified = await obtainLicense(calls, expected, licenseKey, signal);
          const members = await keyFields(licenseKey);
          await recordCache.update((state) => {
            const { seat, keys } = replacedSeat(state, verified.license.licenseId, licenseKey);
            replaced.seat = seat;
            const record = { ...createRecord(verified, trustedTime), ...members };
            return keys.length > 0 ? { ...record, toRelease: keys } : record;
          });
        } catch (error) {
          await softCheck.applyRefusal(licenseKey, error);
          if (error instanceof LicenseError && error.retryAfterSeconds !== undefined) backOff.failed(error);
          publisher.publish();
          throw error;
        }
        const isLastKeyKnown = await followUp(releaseSeats(signal));
        if (replaced.seat === 'pending' && recordOf(recordCache.state)?.toRelease === undefined) {
          replaced.seat = isLastKeyKnown ? 'released' : 'left';
        }
        return { ...publishSaved(), previousSeat: replaced.seat };
      }, signal),

    deactivate: ({ licenseKey, signal } = {}) =>
      hubQueue(async () => {
        if (licenseKey !== undefined) checkKey(licenseKey);
        await recordCache.reload();
        const key = licenseKey ?? recordOf(recordCache.state)?.licenseKey;
        if (key === undefined) {
          throw new LicenseError(
            'license_key_missing',
            'no license key is stored: pass licenseKey to release the seat',
          );
        }
        const isHeld = await holdsKey(recordCache.state, key);
        // This key may be a new key of the stored license. Only the hub knows.
        const seatedLicense = isHeld ? undefined : await findSeatedLicense(calls, recordCache.state, signal);
        // Clearing the record also clears the list of seats to release.
        if (isHeld) await releaseSeats(signal, { isClearing: true });
        await calls.deactivate(key, signal);
        // Another process may have stored another license since, with this key to release.
        if (isHeld) await recordCache.clear((found) => holdsKey(found, key));
        await recordCache.update((found) => withoutPendingRelease(recordOf(found), key));
        if (isHeld) backOff.succeeded();
        else await followUp(softCheck.run(signal, seatedLicense));
        return publishSaved();
      }, signal),
  };
}

/** The state of the previous license's seat, and the keys of all seats still to release, with its key last. */
function replacedSeat(
  state: LicenseState,
  licenseId: string,
  licenseKey: string,
): { readonly seat: PreviousSeat; readonly keys: readonly string[] } {
  const { licenseKey: before, toRelease = [], license, end } = recordOf(state) ?? {};
  const isOther = (license?.['licenseId'] ?? end?.licenseId ?? licenseId) !== licenseId;
  const keys = [...toRelease, ...(isOther && before !== undefined ? [before] : [])];
  const others = keys.filter((key) => !isSameKey(key, licenseKey));
  if (!isOther) return { seat: 'none', keys: others };
  if (before !== undefined) return { seat: 'pending', keys: others };
  return { seat: state.kind === 'license' ? 'left' : 'none', keys: others };
}

/** Whether the record has this key. A record that cannot be read may have any key. */
async function holdsKey(state: LicenseState, licenseKey: string): Promise<boolean> {
  const record = recordOf(state);
  if (record !== undefined) return isKeyOf(record, licenseKey);
  return state.kind === 'unusable' && state.reason === 'record_unreadable';
}

function checkKey(licenseKey: unknown): void {
  if (typeof licenseKey === 'string') return;
  throw new LicenseError('invalid_request', 'licenseKey: must be a string');
}
