// Schedules soft checks, lease renewals and retries.
import type { Clock } from '../clock.ts';
import type { LicenseError } from '../errors.ts';
import { parseRfc3339 } from '../license/rfc3339.ts';
import type { SignedLicense } from '../license/signed-license.ts';
import type { LicenseState } from '../state/license-state.ts';
import { endTimes } from '../verdict/compute-verdict.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/**
 * Bounds of the soft-check interval, in milliseconds. The option must be within them; a value of the hub or of the record
 * is clamped.
 */
export const SOFT_CHECK_INTERVAL_MS = { least: MINUTE_MS, most: 30 * DAY_MS };
const BACK_OFF_MS = { first: MINUTE_MS, most: HOUR_MS };
/** The fraction of a lease after which it is renewed. */
const RENEWAL = 2 / 3;

/** One day, as RECHECK_AFTER_SECONDS in core/license/activation/check-status.ts. It applies until the first soft check. */
export const DEFAULT_RECHECK_SECONDS = DAY_MS / 1000;

/** When to renew the lease, in milliseconds since the epoch; infinity without a lease. */
export function renewalDueAt(license: SignedLicense): number {
  const issued = parseRfc3339(license.issuedAt) ?? 0;
  return issued + (endTimes(license).lease - issued) * RENEWAL;
}

/**
 * When the next soft check is due, in milliseconds since the epoch; infinity without a record.
 *
 * @param softCheckIntervalMs overrides the interval that the hub requests
 */
export function softCheckDueAt(state: LicenseState, now: number, softCheckIntervalMs?: number): number {
  if (state.kind === 'nothing' || state.record === undefined) return Number.POSITIVE_INFINITY;
  const { checkedAt, recheckAfterSeconds, licenseKey, unconfirmedRefusal, hasChangedTerms, toRelease } =
    state.record;
  // A refusal to confirm, terms to fetch or a seat to release: only the back-off delays it.
  if (unconfirmedRefusal !== undefined || hasChangedTerms || (toRelease?.length ?? 0) > 0) return now;
  const checked = parseRfc3339(checkedAt) ?? 0;
  if (checked > now + HOUR_MS) return now; // the clock or the record is wrong
  const { least, most } = SOFT_CHECK_INTERVAL_MS;
  const interval = softCheckIntervalMs ?? Math.min(Math.max(recheckAfterSeconds * 1000, least), most);
  // A suspended license may be resumed at any time, and no other call notices it.
  if (state.record.isSuspended) return checked + Math.min(interval, HOUR_MS);
  const times = [checked + interval];
  if (state.kind === 'license') {
    times.push(...Object.values(endTimes(state.license)).filter((end) => end > checked));
    if (licenseKey !== undefined) times.push(renewalDueAt(state.license));
  }
  return Math.min(...times);
}

export type BackOff = ReturnType<typeof createBackOff>;

/** `forced`: by the user; `urgent`: the verdict depends on it; `due`: scheduled. */
export type CallReason = 'forced' | 'urgent' | 'due';

/**
 * Exponential back-off from a minute to an hour, with jitter (half of the pause to all of it), after any `Retry-After`.
 *
 * @param softCheckIntervalMs lowers the minimum pause after a success, which is an hour
 */
export function createBackOff(clock: Clock, random: () => number, softCheckIntervalMs: number = HOUR_MS) {
  /** Minimum pauses after a success: with a clock that is far ahead, everything is always due. */
  const rest = { urgent: MINUTE_MS, due: Math.min(softCheckIntervalMs, HOUR_MS) };
  let failures = 0;
  let problem: LicenseError | undefined;
  let until: Readonly<Record<CallReason, number>> | undefined;
  return {
    /** Why the last call failed; undefined after a success. */
    get problem() {
      return problem;
    },
    succeeded(): void {
      failures = 0;
      problem = undefined;
      const now = clock.monotonic();
      until = { forced: now, urgent: now + rest.urgent, due: now + rest.due };
    },
    failed(error: LicenseError): void {
      const pause = Math.min(BACK_OFF_MS.first * 2 ** failures, BACK_OFF_MS.most);
      failures += 1;
      problem = error;
      const forced = clock.monotonic() + (error.retryAfterSeconds ?? 0) * 1000;
      const later = forced + pause * (0.5 + random() / 2);
      until = { forced, urgent: later, due: later };
    },
    /** Milliseconds until a call for this reason is allowed. */
    wait: (reason: CallReason): number =>
      until === undefined ? 0 : Math.max(until[reason] - clock.monotonic(), 0),
  };
}
