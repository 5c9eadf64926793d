// What a person asks for: to activate this machine, and to release its seat.
import { LicenseError } from './errors.ts';
import type { Held } from './held.ts';
import type { HubCalls } from './hub-calls.ts';
import type { Keeper } from './keeper.ts';
import { hashOfKey, isKeyOf, isSameKey } from './license-key.ts';
import { obtainLicense } from './obtain.ts';
import { type LicenseRecord, recordIn } from './record.ts';
import { type ReleaseLeft, withoutLeft } from './release.ts';
import type { BackOff } from './schedule.ts';
import type { Signal } from './signal.ts';
import { recordOf, type SoftCheck } from './soft-check.ts';
import type { Timekeeper } from './timekeeper.ts';
import type { Turns } from './turns.ts';
import type { Activated, PreviousSeat, Verdict } from './verdict.ts';
import type { Verdicts } from './verdicts.ts';
import type { Expected } from './verify-license.ts';

/** Both reject with LicenseError, and leave what is held as it is then. */
export type Activation = {
  activate(licenseKey: string, options?: { readonly signal?: Signal | undefined }): Promise<Activated>;
  deactivate(options?: {
    readonly licenseKey?: string | undefined;
    readonly signal?: Signal | undefined;
  }): Promise<Verdict>;
};

export type ActivationOptions = {
  readonly keeper: Keeper;
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly timekeeper: Timekeeper;
  readonly backOff: BackOff;
  readonly softCheck: SoftCheck;
  readonly releaseLeft: ReleaseLeft;
  readonly verdicts: Verdicts;
  readonly hubTurns: Turns;
  readonly keepLicenseKey: boolean;
};

export function createActivation(options: ActivationOptions): Activation {
  const { keeper, calls, expected, timekeeper, backOff, softCheck, releaseLeft, verdicts, hubTurns } =
    options;

  const keyMembers = async (
    licenseKey: string,
  ): Promise<Pick<LicenseRecord, 'licenseKey' | 'licenseKeyHash'>> =>
    options.keepLicenseKey ? { licenseKey } : { licenseKeyHash: await hashOfKey(licenseKey) };

  /** The hub has done it: what is left to go wrong is the store. */
  const settled = (): Verdict => {
    const verdict = verdicts.publish();
    if (keeper.problem !== undefined) throw keeper.problem;
    return verdict;
  };

  /** Never rejects: the machine is activated, whatever becomes of the seat that it had before. */
  const tryToRelease = async (signal?: Signal): Promise<void> => {
    backOff.succeeded();
    try {
      await releaseLeft(signal);
    } catch (error) {
      if (!(error instanceof LicenseError)) throw error;
      if (error.code !== 'aborted') backOff.failed(error);
    }
  };

  return {
    activate: (licenseKey, { signal } = {}) =>
      hubTurns(async () => {
        checkKey(licenseKey);
        await keeper.look();
        const left: { seat: PreviousSeat } = { seat: 'none' };
        try {
          const verified = await obtainLicense(calls, expected, licenseKey, signal);
          const members = await keyMembers(licenseKey);
          await keeper.change((held) => {
            const { seat, keys } = leftBy(held, verified.license.licenseId, licenseKey);
            left.seat = seat;
            const record = { ...recordOf(verified, timekeeper), ...members };
            return keys.length > 0 ? { ...record, toRelease: keys } : record;
          });
        } catch (error) {
          await softCheck.takeRefusal(licenseKey, error);
          if (error instanceof LicenseError && error.retryAfterSeconds !== undefined) backOff.failed(error);
          verdicts.publish();
          throw error;
        }
        await tryToRelease(signal);
        const isReleased = left.seat === 'pending' && recordIn(keeper.held)?.toRelease === undefined;
        return { ...settled(), previousSeat: isReleased ? 'released' : left.seat };
      }, signal),

    deactivate: ({ licenseKey, signal } = {}) =>
      hubTurns(async () => {
        if (licenseKey !== undefined) checkKey(licenseKey);
        await keeper.look();
        const { held } = keeper;
        const record = recordIn(held);
        const key = licenseKey ?? record?.licenseKey;
        if (key === undefined) {
          throw new LicenseError(
            'license_key_missing',
            'no license key was kept: give it, to release the seat',
          );
        }
        const isUnreadable = held.kind === 'unusable' && held.reason === 'record_unreadable';
        const isHeld = record === undefined ? isUnreadable : await isKeyOf(record, key);
        // Nothing remembers them once the record is gone.
        if (isHeld) await releaseLeft(signal);
        await calls.deactivate(key, signal);
        await (isHeld ? keeper.clear() : keeper.change((found) => withoutLeft(recordIn(found), key)));
        backOff.succeeded();
        return settled();
      }, signal),
  };
}

/** What an activation leaves behind: the seat held before, and the keys of all seats that are still to be released. */
function leftBy(
  held: Held,
  licenseId: string,
  licenseKey: string,
): { readonly seat: PreviousSeat; readonly keys: readonly string[] } {
  const { licenseKey: before, toRelease = [], license, end } = recordIn(held) ?? {};
  const isOther = (license?.['licenseId'] ?? end?.licenseId ?? licenseId) !== licenseId;
  const keys = [...toRelease, ...(isOther && before !== undefined ? [before] : [])];
  const others = keys.filter((key) => !isSameKey(key, licenseKey));
  if (!isOther) return { seat: 'none', keys: others };
  if (before !== undefined) return { seat: 'pending', keys: others };
  return { seat: held.kind === 'license' ? 'left' : 'none', keys: others };
}

function checkKey(licenseKey: unknown): void {
  if (typeof licenseKey === 'string') return;
  throw new LicenseError('invalid_request', 'licenseKey: give the license key as a text');
}
