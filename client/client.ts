// hubctl-client: activates licenses, verifies them offline and soft-checks them. Needs nothing but WebCrypto and fetch.
import { createActivation } from './activation.ts';
import { checkOptions } from './check-options.ts';
import { createFreeLimits } from './free-limits.ts';
import type { Held } from './held.ts';
import { createHttp } from './http.ts';
import { createHubCalls } from './hub-calls.ts';
import { parseInstant } from './instant.ts';
import { createKeeper } from './keeper.ts';
import { createLoop } from './loop.ts';
import type { LicenseClientOptions } from './options.ts';
import { createRecheck } from './recheck.ts';
import { createReleaseLeft } from './release.ts';
import { createBackOff } from './schedule.ts';
import type { Signal } from './signal.ts';
import { createSoftCheck } from './soft-check.ts';
import { createTimekeeper, type Timekeeper } from './timekeeper.ts';
import { createTrustAnchor } from './trust-anchor.ts';
import { createTurns } from './turns.ts';
import type { Activated, Verdict } from './verdict.ts';
import { createVerdicts } from './verdicts.ts';

export type { Clock } from './clock.ts';
export { LicenseError, type LicenseErrorCode } from './errors.ts';
export { hasRoom, type Limits } from './limits.ts';
export type { LicenseClientOptions } from './options.ts';
export type { UnlicensedReason } from './reasons.ts';
export type { SignedLicense } from './signed-license.ts';
export { createMemoryStore, type LicenseStore } from './store.ts';
export type { Trust } from './trust.ts';
export type { Activated, Licensed, PreviousSeat, Problem, Unlicensed, Verdict } from './verdict.ts';

export type LicenseClient = {
  /** The verdict at this moment, from memory: cheap enough to ask for before each thing that needs a license. */
  current(): Verdict;
  /** The verdict after another look into the store. Does not ask the hub, and never rejects. */
  check(): Promise<Verdict>;
  /**
   * The soft check: asks the hub if it is time to, renews the lease and takes up changed terms. Without an answer the
   * verdict stays what it is, with a `problem`. `force` asks although it is not time yet, though not before a
   * `Retry-After` has passed. Rejects only with LicenseError `aborted`.
   */
  recheck(options?: CallOptions & { readonly force?: boolean | undefined }): Promise<Verdict>;
  /**
   * Binds this machine to a license and keeps that; the key is taken as the customer typed it. The seat of another
   * license that was held is released after that: `previousSeat` tells. Rejects with LicenseError, and what was held
   * before stays, unless the hub says that this very license has ended. After `store_failed` it holds all the same,
   * until the application ends at least.
   */
  activate(licenseKey: string, options?: CallOptions): Promise<Activated>;
  /**
   * Releases the seat and forgets the license; with the key of another license, the seat of that one, and nothing is
   * forgotten. Rejects with LicenseError, and what was held stays; `license_key_missing` if the key was not kept and is
   * not given.
   */
  deactivate(options?: CallOptions & { readonly licenseKey?: string | undefined }): Promise<Verdict>;
  /** Calls `listener` whenever the verdict has become another one. Returns how to take it off again. */
  subscribe(listener: (verdict: Verdict) => void): () => void;
  /**
   * From now on soft-checks when it is time to, and notices when a license ends. Keeps no process alive, but for a
   * request that is under way.
   */
  start(): void;
  /** Ends that, together with what of it is under way, and saves the time. Call it before the application ends. */
  stop(): Promise<void>;
};

export type CallOptions = { readonly signal?: Signal | undefined };

/**
 * A client that has looked into its store. Rejects with a TypeError that names the option at fault, and for nothing that
 * is in the store: of that the verdict tells.
 */
export async function createLicenseClient(options: LicenseClientOptions): Promise<LicenseClient> {
  const {
    hubUrl,
    app,
    machine,
    store,
    keepLicenseKey,
    softCheckIntervalMs,
    clockToleranceMs,
    timeoutMs,
    fetch,
    clock,
    random,
    ...given
  } = checkOptions(options);
  const onError = guarded(given.onError);
  const calls = createHubCalls(createHttp({ hubUrl, fetch, timeoutMs, clock }), app, machine);
  const trust = await createTrustAnchor(given.trust);
  const expected = { app, machineFingerprint: machine.machineFingerprint, trust };

  const timekeeper = createTimekeeper(clock, clockToleranceMs);
  const keeper = createKeeper(store, expected, (held) => noteTimes(held, timekeeper));
  const backOff = createBackOff(clock, random, softCheckIntervalMs);
  const freeLimits = createFreeLimits(given.freeLimits, calls, clock);
  const verdicts = createVerdicts({ keeper, timekeeper, freeLimits, backOff, onError });
  const softCheck = createSoftCheck({ keeper, calls, expected, timekeeper });
  const releaseLeft = createReleaseLeft(calls, keeper);
  // One call of the hub after the other: a renewal must not take the seat that is being released.
  const context = { keeper, timekeeper, backOff, softCheck, releaseLeft, verdicts, hubTurns: createTurns() };
  const { recheck, untilNext } = createRecheck({ ...context, freeLimits, softCheckIntervalMs });
  const { activate, deactivate } = createActivation({ ...context, calls, expected, keepLicenseKey });
  const run = (signal: Signal): Promise<number> => recheck({ signal }).then(untilNext);
  const loop = createLoop({ clock, run, onError });
  const stop = async (): Promise<void> => {
    await loop.stop();
    await verdicts.saveTime();
  };

  const { current, check, subscribe } = verdicts;
  await check();
  return { current, check, recheck, activate, deactivate, subscribe, start: loop.start, stop };
}

/** A license was signed at a time that has been, and what the record has seen was seen. */
function noteTimes(held: Held, timekeeper: Timekeeper): void {
  if (held.kind !== 'license') return;
  for (const time of [held.license.issuedAt, held.record.seenAt]) timekeeper.note(parseInstant(time) ?? 0);
}

function guarded(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error);
    } catch {
      // There is nobody left to tell.
    }
  };
}
