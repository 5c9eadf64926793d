// Decides when a soft check is due, and runs it.

import type { Signal } from '../abort-signal.ts';
import { LicenseError } from '../errors.ts';
import type { FreeLimits } from '../license/free-limits.ts';
import type { SerialQueue } from '../serial-queue.ts';
import type { RecordCache } from '../state/record-cache.ts';
import type { TrustedTime } from '../state/trusted-time.ts';
import { endTimes } from '../verdict/compute-verdict.ts';
import type { Verdict } from '../verdict/verdict.ts';
import type { VerdictPublisher } from '../verdict/verdict-publisher.ts';
import { type BackOff, softCheckDueAt } from './check-schedule.ts';
import type { ReleaseSeats } from './release-seats.ts';
import { canRecover, canSoftCheck, type SoftCheck } from './soft-check.ts';

export type Recheck = {
  /** Runs a soft check if one is due, or with `force`. Rejects only with LicenseError `aborted`. */
  recheck(options?: {
    readonly force?: boolean | undefined;
    readonly signal?: Signal | undefined;
  }): Promise<Verdict>;
  /** Milliseconds until the next soft check or the end of the license. */
  untilNextRun(): number;
};

/** What all calls to the hub share. */
export type CallContext = {
  readonly recordCache: RecordCache;
  readonly trustedTime: TrustedTime;
  readonly backOff: BackOff;
  readonly softCheck: SoftCheck;
  readonly releaseSeats: ReleaseSeats;
  readonly publisher: VerdictPublisher;
  readonly hubQueue: SerialQueue;
};

export type RecheckOptions = CallContext & {
  readonly freeLimits: FreeLimits;
  /** In milliseconds; undefined: the interval that the hub requests. */
  readonly softCheckIntervalMs: number | undefined;
};

export function createRecheck(options: RecheckOptions): Recheck {
  const { recordCache, trustedTime, backOff, freeLimits, softCheck, releaseSeats, publisher, hubQueue } =
    options;
  const { softCheckIntervalMs } = options;

  const untilSoftCheck = (): number => {
    const { now } = trustedTime.read();
    const { state } = recordCache;
    if (!canSoftCheck(state)) return Math.max(freeLimits.untilDue(), backOff.wait('due'));
    const verdict = publisher.current();
    const isUrgent = canRecover(state) || (!verdict.licensed && verdict.reason === 'clock_set_back');
    return isUrgent
      ? backOff.wait('urgent')
      : Math.max(softCheckDueAt(state, now, softCheckIntervalMs) - now, backOff.wait('due'));
  };

  const ask = async (signal?: Signal): Promise<void> => {
    try {
      await softCheck.run(signal);
      await releaseSeats(signal);
      if (!publisher.current().licensed && freeLimits.untilDue() === 0) await freeLimits.fetch(signal);
      backOff.succeeded();
    } catch (error) {
      if (!(error instanceof LicenseError) || error.code === 'aborted') throw error;
      backOff.failed(error);
    }
  };

  return {
    recheck: ({ force = false, signal } = {}) =>
      hubQueue(async () => {
        await publisher.check();
        const wait = force ? backOff.wait('forced') : untilSoftCheck();
        if (wait <= 0) await ask(signal);
        return publisher.publish();
      }, signal),

    untilNextRun() {
      const { state } = recordCache;
      const { now } = trustedTime.read();
      const ends = state.kind === 'license' ? Object.values(endTimes(state.license)) : [];
      return Math.min(untilSoftCheck(), ...ends.filter((end) => end > now).map((end) => end - now));
    },
  };
}
