// The soft check: asks the hub for the status of the stored license and updates the record.

import type { Signal } from '../abort-signal.ts';
import { LicenseError } from '../errors.ts';
import { isKeyOf } from '../license/license-key.ts';
import type { Limits } from '../license/limits.ts';
import { formatRfc3339, parseRfc3339 } from '../license/rfc3339.ts';
import type { Expected, VerifiedLicense } from '../license/verify-license.ts';
import { type LicenseState, recordOf } from '../state/license-state.ts';
import { isSameLicense, type LicenseRecord } from '../state/record.ts';
import type { RecordCache } from '../state/record-cache.ts';
import type { TrustedTime } from '../state/trusted-time.ts';
import { type EndCode, isEndCode } from '../verdict/reasons.ts';
import { DEFAULT_RECHECK_SECONDS, renewalDueAt } from './check-schedule.ts';
import type { HubCalls, LicenseStatus } from './hub-calls.ts';
import { fetchKey, obtainLicense } from './obtain-license.ts';
import { nextUnconfirmedRefusal } from './unconfirmed-refusal.ts';

export type SoftCheckOptions = {
  readonly recordCache: RecordCache;
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly trustedTime: TrustedTime;
};

export type SoftCheck = ReturnType<typeof createSoftCheck>;

export function createSoftCheck({ recordCache, calls, expected, trustedTime }: SoftCheckOptions) {
  /** Updates the record unless another process has replaced its license since the request. */
  const change = (checked: LicenseRecord, next: (record: LicenseRecord) => LicenseRecord): Promise<void> =>
    recordCache.update((state) => {
      const record = recordOf(state);
      return record !== undefined && isSameLicense(record, checked) ? next(record) : undefined;
    });

  /** Resolves to whether the refusal still has to be confirmed; one that `isFinal` does not. */
  const refuse = async (target: CheckTarget, code: EndCode, isFinal = false): Promise<boolean> => {
    let isUnconfirmed = false;
    await change(target.record, (record) => {
      const { now } = trustedTime.read();
      const { unconfirmedRefusal: before, ...rest } = record;
      const unconfirmedRefusal =
        record.end === undefined && !isFinal ? nextUnconfirmedRefusal(code, now, before) : undefined;
      isUnconfirmed = unconfirmedRefusal !== undefined;
      if (unconfirmedRefusal !== undefined) return { ...rest, unconfirmedRefusal };
      const checkedAt = formatRfc3339(now);
      if (code === 'license_suspended' && record.license !== undefined) {
        return { ...rest, isSuspended: true, checkedAt };
      }
      // Removes the license itself, so that neither a mistake nor tampering restores it.
      const { license: _, key: __, isSuspended: ___, hasChangedTerms: ____, ...kept } = rest;
      return { ...kept, end: { code, licenseId: target.licenseId }, checkedAt };
    });
    return isUnconfirmed;
  };

  const renew = async (checked: LicenseRecord, licenseKey: string, signal?: Signal): Promise<void> => {
    const verified = await obtainLicense(calls, expected, licenseKey, signal).catch(async (error) => {
      // A refused key is not tried more often.
      const isRefused = error instanceof LicenseError && !error.isRetryable && error.code !== 'aborted';
      if (isRefused) await change(checked, ({ hasChangedTerms: _, ...record }) => record);
      throw error;
    });
    await change(checked, ({ recheckAfterSeconds, toRelease }) => ({
      ...createRecord(verified, trustedTime),
      licenseKey,
      recheckAfterSeconds,
      ...(toRelease && { toRelease }),
    }));
  };

  const fetchMissingKey = async (signal?: Signal): Promise<void> => {
    const { state } = recordCache;
    if (state.kind !== 'unusable' || state.reason !== 'key_missing' || state.record === undefined) return;
    const key = await fetchKey(calls, String(state.record.license?.['kid']), signal);
    await change(state.record, (record) => ({ ...record, key }));
  };

  return {
    /**
     * Resolves when the record is up to date. Rejects with LicenseError, also for an unconfirmed refusal. The hub
     * reported a seat of `seatedLicense` just before this machine released a seat. If it reports none now, the machine
     * released this seat, and the refusal needs no confirmation.
     */
    async run(signal?: Signal, seatedLicense?: string): Promise<void> {
      await fetchMissingKey(signal);
      const { state } = recordCache;
      const target = targetOf(state);
      if (target === undefined) return;
      const { record, licenseId } = target;
      const { licenseKey } = record;
      try {
        const status = await calls.status(licenseId, signal);
        const keyToRenew = wantsRenewal(state, status) ? licenseKey : undefined;
        await change(record, ({ unconfirmedRefusal: _, isSuspended: __, hasChangedTerms: ___, ...rest }) => {
          const time = Math.max(status.checkedAt, issuedAt(state));
          trustedTime.set(time);
          const at = formatRfc3339(time);
          const times = { seenAt: at, checkedAt: at, recheckAfterSeconds: status.recheckAfterSeconds };
          // The status has passed, so the next soft check would be far away if this process ended before the renewal.
          return { ...rest, ...times, ...(keyToRenew !== undefined && { hasChangedTerms: true }) };
        });
        // The status is active, so this machine has the seat: activating again takes no other seat.
        if (keyToRenew !== undefined) await renew(record, keyToRenew, signal);
      } catch (error) {
        const code = endCodeOf(error);
        const isFinal = licenseId === seatedLicense && code === 'seat_not_active';
        if (code === undefined || (await refuse(target, code, isFinal))) throw error;
      }
    },

    /** Records a refusal of this license key, if the stored license has the same key. */
    async applyRefusal(licenseKey: string, refusal: unknown): Promise<void> {
      const target = targetOf(recordCache.state);
      const code = endCodeOf(refusal);
      if (target === undefined || code === undefined) return;
      if (await isKeyOf(target.record, licenseKey)) await refuse(target, code);
    },
  };
}

/** Creates the record of a license that the hub has just issued, and sets the time to its issue time. */
export function createRecord({ license, point }: VerifiedLicense, trustedTime: TrustedTime): LicenseRecord {
  trustedTime.set(parseRfc3339(license.issuedAt) ?? 0);
  return {
    license,
    key: point,
    seenAt: license.issuedAt,
    checkedAt: license.issuedAt,
    recheckAfterSeconds: DEFAULT_RECHECK_SECONDS,
  };
}

/** The code by which an error ends the license; undefined if the license remains. */
function endCodeOf(error: unknown): EndCode | undefined {
  if (!(error instanceof LicenseError)) return undefined;
  // Another machine has taken the seat.
  if (error.code === 'seat_limit_reached') return 'seat_not_active';
  return isEndCode(error.code) ? error.code : undefined;
}

type CheckTarget = { readonly record: LicenseRecord; readonly licenseId: string };

/** The license to check: also an ended one, or one whose signing key is no longer pinned. */
function targetOf(state: LicenseState): CheckTarget | undefined {
  if (state.kind === 'nothing' || state.record === undefined) return undefined;
  const { record } = state;
  if (state.kind === 'license') return { record, licenseId: state.license.licenseId };
  if (state.kind === 'ended') return { record, licenseId: state.record.end.licenseId };
  const licenseId = record.license?.['licenseId'];
  return state.reason === 'untrusted_key' && typeof licenseId === 'string'
    ? { record, licenseId }
    : undefined;
}

/** The id of the stored license, if the hub reports that this machine has a seat of it. Never rejects. */
export async function findSeatedLicense(
  calls: HubCalls,
  state: LicenseState,
  signal?: Signal,
): Promise<string | undefined> {
  const licenseId = targetOf(state)?.licenseId;
  return (
    licenseId &&
    calls.status(licenseId, signal).then(
      () => licenseId,
      () => undefined,
    )
  );
}

/** Whether a soft check would make a request. */
export function canSoftCheck(state: LicenseState): boolean {
  return targetOf(state) !== undefined || (state.kind === 'unusable' && state.reason === 'key_missing');
}

/** Whether a soft check can turn an unusable record into a license. */
export function canRecover(state: LicenseState): boolean {
  if (state.kind !== 'unusable') return false;
  return state.reason === 'key_missing' || targetOf(state)?.record.licenseKey !== undefined;
}

/** The lease is near its end, the terms have changed, or the stored license is unusable. */
function wantsRenewal(state: LicenseState, status: LicenseStatus): boolean {
  if (state.kind !== 'license') return true;
  const { license } = state;
  return (
    status.checkedAt >= renewalDueAt(license) ||
    status.checkedAt < issuedAt(state) || // issued while the hub's clock was ahead
    (status.termsVersion !== undefined && status.termsVersion !== license.termsVersion) ||
    status.expiresAt !== license.expiresAt ||
    !isSame(status.limits, license.limits ?? {})
  );
}

function isSame(one: Limits, other: Limits): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

function issuedAt(state: LicenseState): number {
  return (
    (state.kind === 'license' ? parseRfc3339(state.license.issuedAt) : undefined) ?? Number.NEGATIVE_INFINITY
  );
}
