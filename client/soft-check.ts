// The soft check: asks the hub about what is held, and takes down what it says.
import { LicenseError } from './errors.ts';
import type { Held } from './held.ts';
import type { HubCalls, LicenseStatus } from './hub-calls.ts';
import { parseInstant, writeInstant } from './instant.ts';
import type { Keeper } from './keeper.ts';
import { isSameKey } from './license-key.ts';
import type { Limits } from './limits.ts';
import { fetchKey, obtainLicense } from './obtain.ts';
import { type EndCode, isEndCode, type LicenseRecord } from './record.ts';
import { DEFAULT_RECHECK_SECONDS, renewalOf } from './schedule.ts';
import type { Expected, VerifiedLicense } from './signed-license.ts';
import type { Timekeeper } from './timekeeper.ts';

export type SoftCheckOptions = {
  readonly keeper: Keeper;
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly timekeeper: Timekeeper;
};

export type SoftCheck = {
  /** Resolves once the hub has answered about what is held, if that names a license. Rejects with LicenseError. */
  ask(signal?: AbortSignal): Promise<void>;
  /** Ends what is held, if the hub's refusal of this license key is about it. */
  takeRefusal(licenseKey: string, refusal: unknown): Promise<void>;
};

export function createSoftCheck({ keeper, calls, expected, timekeeper }: SoftCheckOptions): SoftCheck {
  /** Only what was asked about: another process may have put something else in its place meanwhile. */
  const change = (asked: LicenseRecord, next: () => LicenseRecord): Promise<void> =>
    keeper.change((held) => (isSameCopy(held, asked) ? next() : undefined));

  const end = ({ record, licenseId }: Subject, code: EndCode): Promise<void> =>
    change(record, () => {
      // With the license itself gone, no later mistake or tampering brings it back.
      const { license: _, key: __, ...rest } = record;
      return { ...rest, end: { code, licenseId }, checkedAt: writeInstant(timekeeper.read().now) };
    });

  const renew = async (asked: LicenseRecord, licenseKey: string, signal?: AbortSignal): Promise<void> => {
    const verified = await obtainLicense(calls, expected, licenseKey, signal);
    await change(asked, () => recordOf(verified, licenseKey, timekeeper));
  };

  const completeKey = async (signal?: AbortSignal): Promise<void> => {
    const { held } = keeper;
    if (held.kind !== 'unusable' || held.reason !== 'key_missing' || held.record === undefined) return;
    const { record } = held;
    const key = await fetchKey(calls, String(record.license?.['kid']), signal);
    await change(record, () => ({ ...record, key }));
  };

  return {
    async ask(signal) {
      await completeKey(signal);
      const { held } = keeper;
      const subject = subjectOf(held);
      if (subject === undefined) return;
      const { record, licenseId } = subject;
      const { licenseKey } = record;
      try {
        const status = await calls.status(licenseId, signal);
        await change(record, () => {
          const time = Math.max(status.checkedAt, issuedAt(held));
          timekeeper.confirm(time);
          const at = writeInstant(time);
          return { ...record, seenAt: at, checkedAt: at, recheckAfterSeconds: status.recheckAfterSeconds };
        });
        // The seat is this machine's: to activate again takes none, and brings none back that was taken away.
        if (licenseKey !== undefined && wantsRenewal(held, status)) await renew(record, licenseKey, signal);
      } catch (error) {
        const code = endOf(error);
        if (code === undefined) throw error;
        await end(subject, code);
      }
    },

    async takeRefusal(licenseKey, refusal) {
      const subject = subjectOf(keeper.held);
      const kept = subject?.record.licenseKey;
      const code = endOf(refusal);
      if (subject === undefined || kept === undefined || code === undefined) return;
      if (isSameKey(kept, licenseKey)) await end(subject, code);
    },
  };
}

/** The record of a license that the hub has just granted, which is a word about the time as well. */
export function recordOf(
  { license, point }: VerifiedLicense,
  licenseKey: string | undefined,
  timekeeper: Timekeeper,
): LicenseRecord {
  timekeeper.confirm(parseInstant(license.issuedAt) ?? 0);
  return {
    license,
    key: point,
    ...(licenseKey !== undefined && { licenseKey }),
    seenAt: license.issuedAt,
    checkedAt: license.issuedAt,
    recheckAfterSeconds: DEFAULT_RECHECK_SECONDS,
  };
}

/** How a refusal ends the license that it is about; undefined if it does not. */
function endOf(error: unknown): EndCode | undefined {
  if (!(error instanceof LicenseError)) return undefined;
  // Somebody else has the seat now.
  if (error.code === 'seat_limit_reached') return 'seat_not_active';
  return isEndCode(error.code) ? error.code : undefined;
}

type Subject = { readonly record: LicenseRecord; readonly licenseId: string };

/** What the hub can be asked about: also a license that ended, and one that a key signed that is trusted no more. */
function subjectOf(held: Held): Subject | undefined {
  if (held.kind === 'nothing' || held.record === undefined) return undefined;
  const { record } = held;
  if (held.kind === 'license') return { record, licenseId: held.license.licenseId };
  if (held.kind === 'ended') return { record, licenseId: held.record.end.licenseId };
  const licenseId = record.license?.['licenseId'];
  return held.reason === 'untrusted_key' && typeof licenseId === 'string' ? { record, licenseId } : undefined;
}

/** Whether there is anything that the hub would be asked. */
export function isAskable(held: Held): boolean {
  return subjectOf(held) !== undefined || (held.kind === 'unusable' && held.reason === 'key_missing');
}

/** Whether an answer of the hub makes a license of what is none. */
export function isMendable(held: Held): boolean {
  if (held.kind !== 'unusable') return false;
  return held.reason === 'key_missing' || subjectOf(held)?.record.licenseKey !== undefined;
}

/** Near the end of its lease, with terms that are no longer those of the license, or with no license to show. */
function wantsRenewal(held: Held, status: LicenseStatus): boolean {
  if (held.kind !== 'license') return true;
  const { license } = held;
  return (
    status.checkedAt >= renewalOf(license) ||
    status.checkedAt < issuedAt(held) || // it was issued by a clock that was ahead
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

function issuedAt(held: Held): number {
  return (
    (held.kind === 'license' ? parseInstant(held.license.issuedAt) : undefined) ?? Number.NEGATIVE_INFINITY
  );
}

function isSameCopy(held: Held, asked: LicenseRecord): boolean {
  const record = held.kind === 'nothing' ? undefined : held.record;
  const copy = ({ license, end }: LicenseRecord) => JSON.stringify(license ?? end);
  return record !== undefined && copy(record) === copy(asked);
}
