// hubctl/client: activates licenses, verifies them offline and soft-checks them. Needs nothing but WebCrypto and fetch.
import { createActivation } from './activation.ts';
import { systemClock } from './clock.ts';
import { createFreeLimits } from './free-limits.ts';
import type { Held } from './held.ts';
import { createHttp } from './http.ts';
import { createHubCalls } from './hub-calls.ts';
import { parseInstant } from './instant.ts';
import { createKeeper } from './keeper.ts';
import { createLoop } from './loop.ts';
import {
  checkedApp,
  checkedFreeLimits,
  hubAddress,
  type LicenseClientOptions,
  machineOf,
} from './options.ts';
import { createRecheck } from './recheck.ts';
import { createBackOff } from './schedule.ts';
import { createSoftCheck } from './soft-check.ts';
import { createTimekeeper, type Timekeeper } from './timekeeper.ts';
import { createTrustAnchor } from './trust.ts';
import { createTurns } from './turns.ts';
import type { Verdict } from './verdict.ts';
import { createVerdicts } from './verdicts.ts';

export type { Clock } from './clock.ts';
export { LicenseError, type LicenseErrorCode } from './errors.ts';
export { hasRoom, type Limits } from './limits.ts';
export type { LicenseClientOptions } from './options.ts';
export type { SignedLicense } from './signed-license.ts';
export { createMemoryStore, type LicenseStore } from './store.ts';
export type { Trust } from './trust.ts';
export type { Licensed, Problem, Unlicensed, UnlicensedReason, Verdict } from './verdict.ts';

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
   * Binds this machine to a license and keeps that; the key is taken as the customer typed it. Rejects with
   * LicenseError, and what was held before stays, unless the hub says that this very license has ended. After
   * `store_failed` it holds all the same, until the application ends at least.
   */
  activate(licenseKey: string, options?: CallOptions): Promise<Verdict>;
  /**
   * Releases the seat and forgets the license. Rejects with LicenseError, and what was held stays;
   * `license_key_missing` if the key was not kept and is not given.
   */
  deactivate(options?: CallOptions & { readonly licenseKey?: string | undefined }): Promise<Verdict>;
  /** Calls `listener` whenever the verdict has become another one. Returns how to take it off again. */
  subscribe(listener: (verdict: Verdict) => void): () => void;
  /**
   * From now on soft-checks when it is time to, and notices when a license ends. Keeps no process alive, but for a
   * request that is under way.
   */
  start(): void;
  /** Ends that, together with what of it is under way. */
  stop(): Promise<void>;
};

export type CallOptions = { readonly signal?: AbortSignal | undefined };

const CLOCK_TOLERANCE_MS = 24 * 60 * 60 * 1000;
const TIMEOUT_MS = 10_000;

/**
 * A client that has looked into its store. Rejects with a TypeError that names the option at fault, and for nothing that
 * is in the store: of that the verdict tells.
 */
export async function createLicenseClient(options: LicenseClientOptions): Promise<LicenseClient> {
  const {
    clock = systemClock,
    random = Math.random,
    keepLicenseKey = true,
    timeoutMs = TIMEOUT_MS,
  } = options;
  const { fetch = (input, init) => globalThis.fetch(input, init) } = options;
  const onError = guarded(options.onError);
  const machine = machineOf(options);
  const app = checkedApp(options.app);
  const builtInLimits = checkedFreeLimits(options.freeLimits);
  const http = createHttp({ hubUrl: hubAddress(options), fetch, timeoutMs, clock });
  const calls = createHubCalls(http, app, machine);
  const trust = await createTrustAnchor(options.trust);
  const expected = { app, machineFingerprint: machine.machineFingerprint, trust };

  const timekeeper = createTimekeeper(clock, options.clockToleranceMs ?? CLOCK_TOLERANCE_MS);
  const keeper = createKeeper(options.store, expected, (held) => noteTimes(held, timekeeper));
  const backOff = createBackOff(clock, random);
  const freeLimits = createFreeLimits(builtInLimits, calls, clock);
  const verdicts = createVerdicts({ keeper, timekeeper, freeLimits, backOff, onError });
  const softCheck = createSoftCheck({ keeper, calls, expected, timekeeper });
  // One call of the hub after the other: a renewal must not take the seat that is being released.
  const context = { keeper, timekeeper, backOff, softCheck, verdicts, hubTurns: createTurns() };
  const { recheck, untilNext } = createRecheck({ ...context, freeLimits });
  const { activate, deactivate } = createActivation({ ...context, calls, expected, keepLicenseKey });
  const run = (signal: AbortSignal): Promise<number> => recheck({ signal }).then(untilNext);
  const { start, stop } = createLoop({ clock, run, onError });

  const { current, check, subscribe } = verdicts;
  await check();
  return { current, check, recheck, activate, deactivate, subscribe, start, stop };
}

/** A license was signed at a time that has been, and what the record has seen was seen. */
function noteTimes(held: Held, timekeeper: Timekeeper): void {
  if (held.kind !== 'license') return;
  for (const time of [held.license.issuedAt, held.record.seenAt]) timekeeper.note(parseInstant(time) ?? 0);
}

function guarded(onError: LicenseClientOptions['onError']): (error: unknown) => void {
  return (error) => {
    try {
      // biome-ignore lint/suspicious/noConsole: what nobody takes care of should at least be seen
      (onError ?? console.error)(error);
    } catch {
      // There is nobody left to tell.
    }
  };
}
