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

/** Why a stored record contains no valid license. */
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

export type UnlicensedReason = 'no_license' | EndCode | 'lease_over' | 'clock_set_back' | UnusableReason;

/** @internal */
export const UNLICENSED_REASONS: readonly UnlicensedReason[] = [
  'no_license',
  ...END_CODES,
  'lease_over',
  'clock_set_back',
  ...UNUSABLE_REASONS,
];

/** @internal */
export function isEndCode(code: unknown): code is EndCode {
  return END_CODES.some((known) => known === code);
}
