// What a stored record amounts to, once everything in it has been verified anew.
import { LicenseError } from './errors.ts';
import { UNUSABLE_REASONS, type UnusableReason } from './reasons.ts';
import { type LicenseRecord, readRecord } from './record.ts';
import type { SignedLicense } from './signed-license.ts';
import { type Expected, verifyLicense } from './verify-license.ts';

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
