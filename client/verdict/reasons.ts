// Reasons why a machine is not licensed.

/** Answers of the hub that end a license, or that suspend it. */
export const END_CODES = [
  'license_revoked',
  'license_suspended',
  'license_expired',
  'license_unknown',
  'seat_not_active',
] as const;

export type EndCode = (typeof END_CODES)[number];

export const PERMANENT_UNUSABLE_REASONS = [
  'record_unreadable',
  'license_malformed',
  'wrong_algorithm',
  'untrusted_key',
  'bad_signature',
  'wrong_app',
  'wrong_machine',
] as const;

/** Why the client cannot use what is stored. */
export type UnusableReason = 'store_failed' | (typeof PERMANENT_UNUSABLE_REASONS)[number] | 'key_missing';

/** @internal */
export const UNUSABLE_REASONS: readonly UnusableReason[] = [
  'store_failed',
  ...PERMANENT_UNUSABLE_REASONS,
  'key_missing',
];

export type UnlicensedReason = 'no_license' | EndCode | 'lease_over' | 'clock_set_back' | UnusableReason;

/** @internal */
export function isEndCode(code: unknown): code is EndCode {
  return END_CODES.some((known) => known === code);
}
