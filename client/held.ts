// What a stored record amounts to, once everything in it has been verified anew.
import { LicenseError } from './errors.ts';
import { type LicenseRecord, readRecord } from './record.ts';
import { type Expected, type SignedLicense, verifyLicense } from './signed-license.ts';

/** Why a record gives no license, whatever the time is. */
export const UNUSABLE_REASONS = [
  'store_failed',
  'record_unreadable',
  'license_malformed',
  'wrong_algorithm',
  'untrusted_key',
  'key_missing',
  'bad_signature',
  'wrong_app',
  'wrong_machine',
] as const;

export type UnusableReason = (typeof UNUSABLE_REASONS)[number];

export type Held =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'license'; readonly license: SignedLicense; readonly record: LicenseRecord }
  | { readonly kind: 'ended'; readonly record: LicenseRecord & Required<Pick<LicenseRecord, 'end'>> }
  | { readonly kind: 'unusable'; readonly reason: UnusableReason; readonly record?: LicenseRecord };

/** Never rejects for what is in the text. */
export async function readHeld(text: string | undefined, expected: Expected): Promise<Held> {
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
