// When the client speaks with the hub by itself, and what becomes of that.
import { LicenseError } from './errors.ts';
import type { FreeLimits } from './free-limits.ts';
import { endsOf } from './judge.ts';
import type { Keeper } from './keeper.ts';
import type { ReleaseLeft } from './release.ts';
import { type BackOff, dueOf } from './schedule.ts';
import type { Signal } from './signal.ts';
import { isAskable, isMendable, type SoftCheck } from './soft-check.ts';
import type { Timekeeper } from './timekeeper.ts';
import type { Turns } from './turns.ts';
import type { Verdict } from './verdict.ts';
import type { Verdicts } from './verdicts.ts';

export type Recheck = {
  /** Asks the hub if it is time to, or `force`. Rejects only with LicenseError `aborted`. */
  recheck(options?: {
    readonly force?: boolean | undefined;
    readonly signal?: Signal | undefined;
  }): Promise<Verdict>;
  /** Milliseconds until there is something to do: the hub to be asked, a license that ends. */
  untilNext(): number;
};

export type RecheckOptions = {
  readonly keeper: Keeper;
  readonly timekeeper: Timekeeper;
  readonly backOff: BackOff;
  readonly freeLimits: FreeLimits;
  readonly softCheck: SoftCheck;
  readonly releaseLeft: ReleaseLeft;
  readonly verdicts: Verdicts;
  readonly hubTurns: Turns;
  /** Milliseconds between two soft checks; undefined: what the hub asks for. */
  readonly softCheckIntervalMs: number | undefined;
};

export function createRecheck(options: RecheckOptions): Recheck {
  const { keeper, timekeeper, backOff, freeLimits, softCheck, releaseLeft, verdicts, hubTurns } = options;
  const { softCheckIntervalMs } = options;

  const untilAsked = (): number => {
    const { now } = timekeeper.read();
    const { held } = keeper;
    if (!isAskable(held)) return Math.max(freeLimits.untilDue(), backOff.wait('due'));
    const verdict = verdicts.current();
    const isUrgent = isMendable(held) || (!verdict.licensed && verdict.reason === 'clock_set_back');
    return isUrgent
      ? backOff.wait('urgent')
      : Math.max(dueOf(held, now, softCheckIntervalMs) - now, backOff.wait('due'));
  };

  const ask = async (signal?: Signal): Promise<void> => {
    try {
      await softCheck.ask(signal);
      await releaseLeft(signal);
      if (!verdicts.current().licensed && freeLimits.untilDue() === 0) await freeLimits.fetch(signal);
      backOff.succeeded();
    } catch (error) {
      if (!(error instanceof LicenseError) || error.code === 'aborted') throw error;
      backOff.failed(error);
    }
  };

  return {
    recheck: ({ force = false, signal } = {}) =>
      hubTurns(async () => {
        await verdicts.check();
        const wait = force ? backOff.wait('forced') : untilAsked();
        if (wait <= 0) await ask(signal);
        return verdicts.publish();
      }, signal),

    untilNext() {
      const { held } = keeper;
      const { now } = timekeeper.read();
      const ends = held.kind === 'license' ? Object.values(endsOf(held.license)) : [];
      return Math.min(untilAsked(), ...ends.filter((end) => end > now).map((end) => end - now));
    },
  };
}
