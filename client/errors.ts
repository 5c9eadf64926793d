// LicenseError, the only error of the client, and its stable codes.
import { END_CODES, type EndCode, PERMANENT_UNUSABLE_REASONS } from './verdict/reasons.ts';

/** Transient: the same call may succeed later. */
export const RETRYABLE_CODES = [
  'request_timeout',
  'rate_limited',
  'internal',
  'overloaded',
  'unavailable',
  'network',
  'timeout',
  'unexpected_answer',
  'store_failed',
  'key_missing',
] as const;

/** Permanent codes that are not reasons of verdicts. */
const PERMANENT_CALL_CODES = [
  'invalid_json',
  'invalid_request',
  'callback_malformed',
  'claim_invalid',
  'not_found',
  'gateway_unknown',
  'session_unknown',
  'app_unknown',
  'license_key_unknown',
  'limit_profile_unknown',
  'seat_unknown',
  'method_not_allowed',
  'seat_limit_reached',
  'body_too_large',
  'unsupported_media_type',
  'headers_too_large',
  'aborted',
  'license_key_missing',
] as const;

/** Permanent: a retry fails until the cause is fixed. @internal */
export const PERMANENT_CODES = [
  ...END_CODES,
  ...PERMANENT_UNUSABLE_REASONS,
  ...PERMANENT_CALL_CODES,
] as const;

/** Codes of the hub's problem documents and of the client itself. */
export type LicenseErrorCode =
  | (typeof RETRYABLE_CODES | typeof PERMANENT_UNUSABLE_REASONS | typeof PERMANENT_CALL_CODES)[number]
  | EndCode;

export type LicenseErrorDetails = {
  /** HTTP status, if the hub answered. */
  readonly status?: number | undefined;
  /** Seconds to wait before the next call, if the hub sent `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** With `seat_limit_reached`: seats the license allows (-1: unlimited) and seats in use. */
  readonly seats?: { readonly limit: number; readonly used: number } | undefined;
  /** Identifies the call in the hub's log. */
  readonly requestId?: string | undefined;
};

/**
 * Why a call failed. Decide by `code`; `message` is English text for logs. No field contains a license key or a
 * fingerprint.
 */
export class LicenseError extends Error {
  override readonly name = 'LicenseError';
  readonly code: LicenseErrorCode;
  /** Whether the same call may succeed later. */
  readonly isRetryable: boolean;
  readonly status: LicenseErrorDetails['status'];
  readonly retryAfterSeconds: LicenseErrorDetails['retryAfterSeconds'];
  readonly seats: LicenseErrorDetails['seats'];
  readonly requestId: LicenseErrorDetails['requestId'];

  constructor(
    code: LicenseErrorCode,
    message: string,
    details: LicenseErrorDetails & { cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.isRetryable = isOneOf(RETRYABLE_CODES, code);
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.seats = details.seats;
    this.requestId = details.requestId;
  }
}

/** @internal */
export function isErrorCode(text: string): text is LicenseErrorCode {
  return isOneOf(RETRYABLE_CODES, text) || isOneOf(PERMANENT_CODES, text);
}

function isOneOf(codes: readonly string[], text: string): boolean {
  return codes.includes(text);
}
