// The errors of the client: one class, with a stable code of a listed union.

/** Every code, and whether the same call may well succeed later without anybody changing anything. */
export const ERROR_CODES = {
  // What the hub answers, by the codes of its problem documents.
  invalid_json: { isRetryable: false },
  invalid_request: { isRetryable: false },
  callback_malformed: { isRetryable: false },
  seat_not_active: { isRetryable: false },
  not_found: { isRetryable: false },
  gateway_unknown: { isRetryable: false },
  app_unknown: { isRetryable: false },
  license_key_unknown: { isRetryable: false },
  license_unknown: { isRetryable: false },
  limit_profile_unknown: { isRetryable: false },
  seat_unknown: { isRetryable: false },
  method_not_allowed: { isRetryable: false },
  request_timeout: { isRetryable: true },
  seat_limit_reached: { isRetryable: false },
  license_expired: { isRetryable: false },
  license_revoked: { isRetryable: false },
  body_too_large: { isRetryable: false },
  unsupported_media_type: { isRetryable: false },
  rate_limited: { isRetryable: true },
  headers_too_large: { isRetryable: false },
  internal: { isRetryable: true },
  overloaded: { isRetryable: true },
  unavailable: { isRetryable: true },
  // What comes in the way.
  network: { isRetryable: true },
  timeout: { isRetryable: true },
  aborted: { isRetryable: false },
  unexpected_answer: { isRetryable: true },
  store_failed: { isRetryable: true },
  license_key_missing: { isRetryable: false },
  // What is wrong with a license or a record.
  license_malformed: { isRetryable: false },
  wrong_algorithm: { isRetryable: false },
  untrusted_key: { isRetryable: false },
  key_missing: { isRetryable: true },
  bad_signature: { isRetryable: false },
  wrong_app: { isRetryable: false },
  wrong_machine: { isRetryable: false },
  record_unreadable: { isRetryable: false },
} as const satisfies Record<string, { isRetryable: boolean }>;

export type LicenseErrorCode = keyof typeof ERROR_CODES;

export type LicenseErrorDetails = {
  /** HTTP status of the hub's answer, if there was one. */
  readonly status?: number | undefined;
  /** How long the hub asks to wait before the next call. */
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
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly seats: { readonly limit: number; readonly used: number } | undefined;
  readonly requestId: string | undefined;

  constructor(
    code: LicenseErrorCode,
    message: string,
    details: LicenseErrorDetails & { cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.isRetryable = ERROR_CODES[code].isRetryable;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.seats = details.seats;
    this.requestId = details.requestId;
  }
}

export function isErrorCode(text: string): text is LicenseErrorCode {
  return Object.hasOwn(ERROR_CODES, text);
}
