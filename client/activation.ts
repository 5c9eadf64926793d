// What a person asks for: to activate this machine, and to release its seat.
import { LicenseError } from './errors.ts';
import type { HubCalls } from './hub-calls.ts';
import type { Keeper } from './keeper.ts';
import { isSameKey } from './license-key.ts';
import { obtainLicense } from './obtain.ts';
import type { BackOff } from './schedule.ts';
import type { Expected } from './signed-license.ts';
import { recordOf, type SoftCheck } from './soft-check.ts';
import type { Timekeeper } from './timekeeper.ts';
import type { Turns } from './turns.ts';
import type { Verdict } from './verdict.ts';
import type { Verdicts } from './verdicts.ts';

/** Both reject with LicenseError, and leave what is held as it is then. */
export type Activation = {
  activate(licenseKey: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Verdict>;
  deactivate(options?: {
    readonly licenseKey?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<Verdict>;
};

export type ActivationOptions = {
  readonly keeper: Keeper;
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly timekeeper: Timekeeper;
  readonly backOff: BackOff;
  readonly softCheck: SoftCheck;
  readonly verdicts: Verdicts;
  readonly hubTurns: Turns;
  readonly keepLicenseKey: boolean;
};

export function createActivation(options: ActivationOptions): Activation {
  const { keeper, calls, expected, timekeeper, backOff, softCheck, verdicts, hubTurns } = options;

  /** The hub has done it: what is left to go wrong is the store. */
  const settled = (): Verdict => {
    backOff.succeeded();
    const verdict = verdicts.publish();
    if (keeper.problem !== undefined) throw keeper.problem;
    return verdict;
  };

  return {
    activate: (licenseKey, { signal } = {}) =>
      hubTurns(async () => {
        await keeper.look();
        try {
          const verified = await obtainLicense(calls, expected, licenseKey, signal);
          const kept = options.keepLicenseKey ? licenseKey : undefined;
          await keeper.change(() => recordOf(verified, kept, timekeeper));
        } catch (error) {
          await softCheck.takeRefusal(licenseKey, error);
          if (error instanceof LicenseError && error.retryAfterSeconds !== undefined) backOff.failed(error);
          verdicts.publish();
          throw error;
        }
        return settled();
      }, signal),

    deactivate: ({ licenseKey, signal } = {}) =>
      hubTurns(async () => {
        await keeper.look();
        const { held } = keeper;
        const kept = held.kind === 'nothing' ? undefined : held.record?.licenseKey;
        const key = licenseKey ?? kept;
        if (key === undefined) {
          throw new LicenseError(
            'license_key_missing',
            'no license key was kept: give it, to release the seat',
          );
        }
        await calls.deactivate(key, signal);
        if (kept === undefined || isSameKey(kept, key)) await keeper.clear();
        return settled();
      }, signal),
  };
}
