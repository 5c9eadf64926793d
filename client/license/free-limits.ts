// Free limits: the built-in ones, overridden by the hub's Free profile. Not stored, so that users cannot edit them.

import type { Signal } from '../abort-signal.ts';
import type { Clock } from '../clock.ts';
import { LicenseError } from '../errors.ts';
import type { HubCalls } from '../hub/hub-calls.ts';
import type { Limits } from './limits.ts';

export type FreeLimits = ReturnType<typeof createFreeLimits>;

const FETCH_EVERY_MS = 24 * 60 * 60 * 1000;

export function createFreeLimits(builtIn: Limits, calls: HubCalls, clock: Clock) {
  let limits = builtIn;
  let dueAt: number | undefined;
  return {
    get limits() {
      return limits;
    },
    /** Milliseconds until the next fetch. */
    untilDue: () => (dueAt === undefined ? 0 : Math.max(dueAt - clock.monotonic(), 0)),
    /** Rejects with LicenseError. */
    async fetch(signal?: Signal): Promise<void> {
      try {
        limits = Object.freeze({ ...builtIn, ...(await calls.freeLimits(signal)) });
      } catch (error) {
        // The app has no Free profile: use the built-in limits.
        if (!(error instanceof LicenseError) || error.code !== 'limit_profile_unknown') throw error;
        limits = builtIn;
      }
      dueAt = clock.monotonic() + FETCH_EVERY_MS;
    },
  };
}
