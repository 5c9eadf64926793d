// When the hub is asked again: after the pause it asks for, before something ends, later and later if it cannot be reached.
import type { Clock } from './clock.ts';
import type { LicenseError } from './errors.ts';
import type { Held } from './held.ts';
import { parseInstant } from './instant.ts';
import { endsOf } from './judge.ts';
import type { SignedLicense } from './signed-license.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/**
 * The bounds of the interval between two soft checks, in milliseconds. The option has to keep them. What a hub says, or
 * a record that was tampered with, is kept within them.
 */
export const SOFT_CHECK_INTERVAL_MS = { least: MINUTE_MS, most: 30 * DAY_MS };
const BACK_OFF_MS = { first: MINUTE_MS, most: HOUR_MS };
/** The part of a lease that has to be over before it is renewed. */
const RENEWAL = 2 / 3;

export const DEFAULT_RECHECK_SECONDS = DAY_MS / 1000;

/** When a lease should be renewed by activating again, in milliseconds since the epoch; never without a lease. */
export function renewalOf(license: SignedLicense): number {
  const issued = parseInstant(license.issuedAt) ?? 0;
  return issued + (endsOf(license).lease - issued) * RENEWAL;
}

/**
 * When the hub should be asked about what is held, in milliseconds since the epoch. Nothing held: never.
 *
 * @param softCheckIntervalMs replaces the interval that the hub asked for
 */
export function dueOf(held: Held, now: number, softCheckIntervalMs?: number): number {
  if (held.kind === 'nothing' || held.record === undefined) return Number.POSITIVE_INFINITY;
  const { checkedAt, recheckAfterSeconds, licenseKey, doubt, toRelease } = held.record;
  // Something is left to be done, as soon as the back-off allows.
  if (doubt !== undefined || (toRelease?.length ?? 0) > 0) return now;
  const checked = parseInstant(checkedAt) ?? 0;
  if (checked > now + HOUR_MS) return now; // the clock is wrong, or the record
  const { least, most } = SOFT_CHECK_INTERVAL_MS;
  const interval = softCheckIntervalMs ?? Math.min(Math.max(recheckAfterSeconds * 1000, least), most);
  const times = [checked + interval];
  if (held.kind === 'license') {
    const { expiry, lease } = endsOf(held.license);
    times.push(...[expiry, lease].filter((end) => end > checked));
    if (licenseKey !== undefined) times.push(renewalOf(held.license));
  }
  return Math.min(...times);
}

export type BackOff = {
  /** Why the hub did not answer the last time; undefined once it did. */
  readonly problem: LicenseError | undefined;
  succeeded(): void;
  failed(problem: LicenseError): void;
  /** Milliseconds until the hub may be asked, for the reason there is. */
  wait(reason: AskReason): number;
};

/** A person wants it now; the verdict hangs on it; it is time for it. */
export type AskReason = 'forced' | 'urgent' | 'due';

/**
 * Pauses of a minute, two, four, up to an hour; at random between half of that and all of it, so that clients do not
 * come back together when their hub does. What `Retry-After` asks for is waited out in any case.
 *
 * @param softCheckIntervalMs shortens the hour that passes after an answer, so that this interval is kept
 */
export function createBackOff(
  clock: Clock,
  random: () => number,
  softCheckIntervalMs: number = HOUR_MS,
): BackOff {
  /** After an answer. To a clock that is far ahead, everything is due at any time. */
  const rest = { urgent: MINUTE_MS, due: Math.min(softCheckIntervalMs, HOUR_MS) };
  let failures = 0;
  let problem: LicenseError | undefined;
  let until: Readonly<Record<AskReason, number>> | undefined;
  return {
    get problem() {
      return problem;
    },
    succeeded() {
      failures = 0;
      problem = undefined;
      const now = clock.monotonic();
      until = { forced: now, urgent: now + rest.urgent, due: now + rest.due };
    },
    failed(error) {
      const pause = Math.min(BACK_OFF_MS.first * 2 ** failures, BACK_OFF_MS.most);
      failures += 1;
      problem = error;
      const forced = clock.monotonic() + (error.retryAfterSeconds ?? 0) * 1000;
      const later = forced + pause * (0.5 + random() / 2);
      until = { forced, urgent: later, due: later };
    },
    wait: (reason) => (until === undefined ? 0 : Math.max(until[reason] - clock.monotonic(), 0)),
  };
}
