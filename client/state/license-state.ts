// The license state: what a stored record is worth after verification.
import { LicenseError } from '../errors.ts';
import type { SignedLicense } from '../license/signed-license.ts';
import { type Expected, verifyLicense } from '../license/verify-license.ts';
import { UNUSABLE_REASONS, type UnusableReason } from '../verdict/reasons.ts';
import { type LicenseRecord, readRecord } from './record.ts';

export type LicenseState =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'license'; readonly license: SignedLicense; readonly record: LicenseRecord }
  | { readonly kind: 'ended'; readonly record: LicenseRecord & Required<Pick<LicenseRecord, 'end'>> }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly record?: LicenseRecord };

/** Verifies a stored record. Invalid text gives the state `unusable`, not an error. */
export async function readLicenseState(text: string | undefined, expected: Expected): Promise<LicenseState> {
  if (text === undefined) return { kind: 'nothing' };
  let record: LicenseRecord | undefined;
  try {
    record = await readRecord(text);
    const { end } = record;
    if (end !== undefined) return { kind: 'ended', record: { ...record, end } };
    const { license } = await verifyLicense(record.license, expected, record.key);
    return { kind: 'license', license, record };
  } catch (error) {
    if (!(error instanceof LicenseError) || !isUnusableReason(error.code)) throw error;
    return { kind: 'unusable', reason: error.code, ...(record && { record }) };
  }
}

function isUnusableReason(code: string): code is UnusableReason {
  return UNUSABLE_REASONS.some((known) => known === code);
}

export function recordOf(state: LicenseState): LicenseRecord | undefined {
  return state.kind === 'nothing' ? undefined : state.record;
}
