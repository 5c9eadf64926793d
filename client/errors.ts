// The errors of the client: one class, with a stable code of a listed union.

/** The same call may well succeed later without anybody changing anything. */
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

/** The same call fails again until somebody changes something. */
export const PERMANENT_CODES = [
  'invalid_json',
  'invalid_request',
  'callback_malformed',
  'seat_not_active',
  'not_found',
  'gateway_unknown',
  'app_unknown',
  'license_key_unknown',
  'license_unknown',
  'limit_profile_unknown',
  'seat_unknown',
  'method_not_allowed',
  'seat_limit_reached',
  'license_expired',
  'license_revoked',
  'body_too_large',
  'unsupported_media_type',
  'headers_too_large',
  'aborted',
  'license_key_missing',
  'license_malformed',
  'wrong_algorithm',
  'untrusted_key',
  'bad_signature',
  'wrong_app',
  'wrong_machine',
  'record_unreadable',
] as const;

/** The codes of the hub's problem documents, and those of the client itself. */
export type LicenseErrorCode = (typeof RETRYABLE_CODES)[number] | (typeof PERMANENT_CODES)[number];

export type LicenseErrorDetails = {
  /** HTTP status of the hub's answer, if there was one. */
  readonly status?: number | undefined;
  /** Seconds to wait before the next call, if the hub asks for a pause. */
  readonly retryAfterSeconds?: number | undefined;
  /** With `seat_limit_reached`: seats the license allows (-1: unlimited) and seats in use. */
  readonly seats?: { readonly limit: number; readonly used: number } | undefined;
  /** By this the hub's operator finds the call in the log. */
  readonly requestId?: string | undefined;
};

/**
 * Why a call failed. Decide by `code`; `message` is English, for logs. Neither it nor anything else in here has a
 * license key or a fingerprint in it.
 */
export class LicenseError extends Error {
  override readonly name = 'LicenseError';
  readonly code: LicenseErrorCode;
  /** Whether the same call may well succeed later without anybody changing anything. */
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

export function isErrorCode(text: string): text is LicenseErrorCode {
  return isOneOf(RETRYABLE_CODES, text) || isOneOf(PERMANENT_CODES, text);
}

function isOneOf(codes: readonly string[], text: string): boolean {
  return codes.includes(text);
}
