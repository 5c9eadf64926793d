// The Free limits: those of the vendor's build, and over them what the hub says. Never stored, where they could be raised.
import type { Clock } from './clock.ts';
import { LicenseError } from './errors.ts';
import type { HubCalls } from './hub-calls.ts';
import type { Limits } from './limits.ts';
import type { Signal } from './signal.ts';

export type FreeLimits = {
  readonly limits: Limits;
  /** Milliseconds until they should be fetched again. */
  untilDue(): number;
  /** Rejects with LicenseError. */
  fetch(signal?: Signal): Promise<void>;
};

const FETCH_EVERY_MS = 24 * 60 * 60 * 1000;

export function createFreeLimits(builtIn: Limits, calls: HubCalls, clock: Clock): FreeLimits {
  let limits = builtIn;
  let dueAt: number | undefined;
  return {
    get limits() {
      return limits;
    },
    untilDue: () => (dueAt === undefined ? 0 : Math.max(dueAt - clock.monotonic(), 0)),
    async fetch(signal) {
      try {
        // What the profile does not name stays limited as it is built in.
        limits = Object.freeze({ ...builtIn, ...(await calls.freeLimits(signal)) });
      } catch (error) {
        // The app has no such profile: those that are built in hold.
        if (!(error instanceof LicenseError) || error.code !== 'limit_profile_unknown') throw error;
        limits = builtIn;
      }
      dueAt = clock.monotonic() + FETCH_EVERY_MS;
    },
  };
}
