// hubctl-client: activates, verifies and soft-checks licenses. Requires only WebCrypto and fetch.

import type { Signal } from './abort-signal.ts';
import { createActivation } from './activation.ts';
import { createLoop } from './background-loop.ts';
import { checkOptions } from './check-options.ts';
import { createBackOff } from './hub/check-schedule.ts';
import { createHttp } from './hub/http.ts';
import { createHubCalls } from './hub/hub-calls.ts';
import { createRecheck } from './hub/recheck.ts';
import { createReleaseSeats } from './hub/release-seats.ts';
import { createSoftCheck } from './hub/soft-check.ts';
import { createFreeLimits } from './license/free-limits.ts';
import { parseRfc3339 } from './license/rfc3339.ts';
import { createTrustAnchor } from './license/trust-anchor.ts';
import type { LicenseClientOptions } from './options.ts';
import { createSerialQueue } from './serial-queue.ts';
import type { LicenseState } from './state/license-state.ts';
import { createRecordCache } from './state/record-cache.ts';
import { createTrustedTime, type TrustedTime } from './state/trusted-time.ts';
import type { Activated, Verdict } from './verdict/verdict.ts';
import { createVerdictPublisher } from './verdict/verdict-publisher.ts';

export type { Clock } from './clock.ts';
export { LicenseError, type LicenseErrorCode } from './errors.ts';
export { hasRoom, type Limits } from './license/limits.ts';
export type { Metadata, SignedLicense } from './license/signed-license.ts';
export type { Trust } from './license/trust-option.ts';
export type { LicenseClientOptions } from './options.ts';
export { createMemoryStore, type LicenseStore } from './state/store.ts';
export type { UnlicensedReason } from './verdict/reasons.ts';
export type { Activated, Licensed, PreviousSeat, Problem, Unlicensed, Verdict } from './verdict/verdict.ts';

export type LicenseClient = {
  /** The current verdict, from memory. Cheap enough to call before each licensed feature. */
  current(): Verdict;
  /** Whether this machine is licensed now, and its license names this feature. From memory, like `current`. */
  has(feature: string): boolean;
  /** Reloads the record from the store and returns the verdict. Makes no request and never rejects. */
  check(): Promise<Verdict>;
  /**
   * Soft check: if one is due, asks the hub for the status, renews the lease and applies changed terms. If the hub
   * does not answer, the verdict stays and carries a `problem`. `force` checks early, but never before `Retry-After`
   * has passed. Rejects only with LicenseError `aborted`.
   */
  recheck(options?: CallOptions & { readonly force?: boolean | undefined }): Promise<Verdict>;
  /**
   * Activates this machine and stores the license; accepts the key as the customer typed it. Then releases the seat of
   * the license that it replaces, if any: see `previousSeat`. Rejects with LicenseError and keeps the previous license,
   * unless the hub reports that this same license has ended. After `store_failed` the license is valid in memory only.
   */
  activate(licenseKey: string, options?: CallOptions): Promise<Activated>;
  /**
   * Releases the seat and removes the stored license. With a key that is not stored, releases the seat of that key and
   * soft-checks the stored license. That license ends with `seat_not_active` if the seat was its own. Rejects with
   * LicenseError and keeps the license; `license_key_missing` if no key is stored or given.
   */
  deactivate(options?: CallOptions & { readonly licenseKey?: string | undefined }): Promise<Verdict>;
  /** Calls `listener` when the verdict changes. Returns a function that unsubscribes. */
  subscribe(listener: (verdict: Verdict) => void): () => void;
  /**
   * Starts soft checks in the background and notices when a license ends. Only a pending request keeps the process
   * alive.
   */
  start(): void;
  /** Stops the background checks, aborts a pending one and saves the time. Call it before the application exits. */
  stop(): Promise<void>;
};

export type CallOptions = { readonly signal?: Signal | undefined };

/**
 * Creates a client and loads its record. Rejects with a TypeError that names an invalid option. A damaged or missing
 * record does not reject: the verdict reports it.
 */
export async function createLicenseClient(options: LicenseClientOptions): Promise<LicenseClient> {
  const checked = checkOptions(options);
  const { app, machine, keepLicenseKey, softCheckIntervalMs, clock } = checked;
  const onError = catchingErrors(checked.onError);
  const calls = createHubCalls(createHttp(checked), app, machine);
  const trust = await createTrustAnchor(checked.trust);
  const expected = { app, machineFingerprint: machine.machineFingerprint, trust };

  const trustedTime = createTrustedTime(clock, checked.clockToleranceMs);
  const recordCache = createRecordCache(checked.store, expected, createTimeReader(trustedTime));
  const backOff = createBackOff(clock, checked.random, softCheckIntervalMs);
  const freeLimits = createFreeLimits(checked.freeLimits, calls, clock);
  const publisher = createVerdictPublisher({ recordCache, trustedTime, freeLimits, backOff, onError });
  const softCheck = createSoftCheck({ recordCache, calls, expected, trustedTime });
  const releaseSeats = createReleaseSeats(calls, recordCache);
  // Serializes calls to the hub: a renewal must not take the seat that is being released.
  const hubQueue = createSerialQueue();
  const context = { recordCache, trustedTime, backOff, softCheck, releaseSeats, publisher, hubQueue };
  const { recheck, untilNextRun } = createRecheck({ ...context, freeLimits, softCheckIntervalMs });
  const { activate, deactivate } = createActivation({ ...context, calls, expected, keepLicenseKey });
  const run = (signal: Signal): Promise<number> => recheck({ signal }).then(untilNextRun);
  const loop = createLoop({ clock, run, onError });
  const stop = async (): Promise<void> => {
    await loop.stop();
    await publisher.saveTime();
  };

  const { current, check, subscribe } = publisher;
  const has = (feature: string): boolean => current().features.includes(feature);
  await check();
  return { current, has, check, recheck, activate, deactivate, subscribe, start: loop.start, stop };
}

/** Advances the known time to the times of each record that is read. */
function createTimeReader(trustedTime: TrustedTime): (state: LicenseState) => void {
  let checkedAt: string | undefined;
  return (state) => {
    if (state.kind !== 'license') return;
    const { license, record } = state;
    // Both times are in the past, so the present is at least as late.
    const time = Math.max(parseRfc3339(license.issuedAt) ?? 0, parseRfc3339(record.seenAt) ?? 0);
    // Another process has had an answer of the hub since. That answer may have corrected a time that is too late, which
    // this process still knows.
    const isCorrected = checkedAt !== undefined && checkedAt !== record.checkedAt;
    checkedAt = record.checkedAt;
    if (isCorrected && trustedTime.read().isSetBack) trustedTime.startAt(time);
    else trustedTime.advanceTo(time);
  };
}

function catchingErrors(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error);
    } catch {
      // The error handler itself failed.
    }
  };
}
