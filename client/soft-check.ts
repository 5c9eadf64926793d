// The soft check: asks the hub about what is held, and takes down what it says.
import { doubtAfter } from './doubt.ts';
import { LicenseError } from './errors.ts';
import type { Held } from './held.ts';
import type { HubCalls, LicenseStatus } from './hub-calls.ts';
import { parseInstant, writeInstant } from './instant.ts';
import type { Keeper } from './keeper.ts';
import { isKeyOf } from './license-key.ts';
import type { Limits } from './limits.ts';
import { fetchKey, obtainLicense } from './obtain.ts';
import { type EndCode, isEndCode } from './reasons.ts';
import { type LicenseRecord, recordIn } from './record.ts';
import { DEFAULT_RECHECK_SECONDS, renewalOf } from './schedule.ts';
import type { Signal } from './signal.ts';
import type { Timekeeper } from './timekeeper.ts';
import type { Expected, VerifiedLicense } from './verify-license.ts';

export type SoftCheckOptions = {
  readonly keeper: Keeper;
  readonly calls: HubCalls;
  readonly expected: Expected;
  readonly timekeeper: Timekeeper;
};

export type SoftCheck = {
  /**
   * Resolves once the hub has answered about what is held, if that names a license. Rejects with LicenseError, also if
   * that is a refusal which is not confirmed yet.
   */
  ask(signal?: Signal): Promise<void>;
  /** Takes down that the hub has refused this license key, if it is that of what is held. */
  takeRefusal(licenseKey: string, refusal: unknown): Promise<void>;
};

export function createSoftCheck({ keeper, calls, expected, timekeeper }: SoftCheckOptions): SoftCheck {
  /** Only what was asked about: another process may have put something else in its place meanwhile. */
  const change = (asked: LicenseRecord, next: (record: LicenseRecord) => LicenseRecord): Promise<void> =>
    keeper.change((held) => {
      const record = recordIn(held);
      return record !== undefined && isSameCopy(record, asked) ? next(record) : undefined;
    });

  /** Resolves to whether a license is still held that the hub has to refuse once more. */
  const refuse = async (subject: Subject, code: EndCode): Promise<boolean> => {
    let isDoubted = false;
    await change(subject.record, (record) => {
      const { now } = timekeeper.read();
      const { doubt: before, ...undoubted } = record;
      const doubt = record.end === undefined ? doubtAfter(code, now, before) : undefined;
      isDoubted = doubt !== undefined;
      if (doubt !== undefined) return { ...undoubted, doubt };
      // With the license itself gone, no later mistake or tampering brings it back.
      const { license: _, key: __, ...rest } = undoubted;
      return { ...rest, end: { code, licenseId: subject.licenseId }, checkedAt: writeInstant(now) };
    });
    return isDoubted;
  };

  const renew = async (asked: LicenseRecord, licenseKey: string, signal?: Signal): Promise<void> => {
    const verified = await obtainLicense(calls, expected, licenseKey, signal);
    await change(asked, ({ recheckAfterSeconds, toRelease }) => ({
      ...recordOf(verified, timekeeper),
      licenseKey,
      recheckAfterSeconds,
      ...(toRelease && { toRelease }),
    }));
  };

  const completeKey = async (signal?: Signal): Promise<void> => {
    const { held } = keeper;
    if (held.kind !== 'unusable' || held.reason !== 'key_missing' || held.record === undefined) return;
    const key = await fetchKey(calls, String(held.record.license?.['kid']), signal);
    await change(held.record, (record) => ({ ...record, key }));
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
        await change(record, ({ doubt: _, ...undoubted }) => {
          const time = Math.max(status.checkedAt, issuedAt(held));
          timekeeper.confirm(time);
          const at = writeInstant(time);
          return { ...undoubted, seenAt: at, checkedAt: at, recheckAfterSeconds: status.recheckAfterSeconds };
        });
        // The seat is this machine's: to activate again takes none, and brings none back that was taken away.
        if (licenseKey !== undefined && wantsRenewal(held, status)) await renew(record, licenseKey, signal);
      } catch (error) {
        const code = endOf(error);
        if (code === undefined || (await refuse(subject, code))) throw error;
      }
    },

    async takeRefusal(licenseKey, refusal) {
      const subject = subjectOf(keeper.held);
      const code = endOf(refusal);
      if (subject === undefined || code === undefined) return;
      if (await isKeyOf(subject.record, licenseKey)) await refuse(subject, code);
    },
  };
}

/** The record of a license that the hub has just granted, which is a word about the time as well. */
export function recordOf({ license, point }: VerifiedLicense, timekeeper: Timekeeper): LicenseRecord {
  timekeeper.confirm(parseInstant(license.issuedAt) ?? 0);
  return {
    license,
    key: point,
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

function isSameCopy(one: LicenseRecord, other: LicenseRecord): boolean {
  const copy = ({ license, end }: LicenseRecord) => JSON.stringify(license ?? end);
  return copy(one) === copy(other);
}
