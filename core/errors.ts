// The errors of the domain: one class with stable codes.
import type { IdPrefix } from './ids.ts';

/** The kind of an error code; the RPC layer and the gateway map kinds to their own codes. */
export type HubErrorKind =
  | 'not_found'
  | 'already_exists'
  | 'failed_precondition'
  | 'resource_exhausted'
  | 'permission_denied'
  | 'invalid_argument'
  | 'unavailable';

/** All error codes. They are part of the public contract: never renamed, never reused. */
export const HUB_ERRORS = {
  app_unknown: 'not_found',
  app_exists: 'already_exists',
  signing_key_unknown: 'not_found',
  signing_key_active: 'failed_precondition',
  limit_profile_unknown: 'not_found',
  license_key_unknown: 'not_found',
  license_unknown: 'not_found',
  license_revoked: 'failed_precondition',
  license_expired: 'failed_precondition',
  license_suspended: 'failed_precondition',
  version_conflict: 'failed_precondition',
  period_invalid: 'invalid_argument',
  update_mask_invalid: 'invalid_argument',
  signed_metadata_invalid: 'invalid_argument',
  key_not_derivable: 'failed_precondition',
  import_invalid: 'invalid_argument',
  import_stalled: 'failed_precondition',
  customer_unknown: 'not_found',
  customer_erased: 'failed_precondition',
  external_ref_taken: 'already_exists',
  seat_limit_reached: 'resource_exhausted',
  seat_unknown: 'not_found',
  seat_not_active: 'permission_denied',
  expiry_invalid: 'invalid_argument',
  token_unknown: 'not_found',
  token_name_reserved: 'invalid_argument',
  certificate_subject_taken: 'already_exists',
  last_admin: 'failed_precondition',
  page_token_invalid: 'invalid_argument',
  gateway_unknown: 'not_found',
  method_not_allowed: 'invalid_argument',
  callback_malformed: 'invalid_argument',
  callback_unknown: 'not_found',
  duplicate_payment_unknown: 'not_found',
  slot_unknown: 'not_found',
  slot_exists: 'already_exists',
  slot_disabled: 'failed_precondition',
  credentials_invalid: 'invalid_argument',
  base_url_invalid: 'invalid_argument',
  slot_option_invalid: 'invalid_argument',
  session_unknown: 'not_found',
  session_not_held: 'failed_precondition',
  session_not_refundable: 'failed_precondition',
  refund_unknown: 'not_found',
  refund_not_supported: 'failed_precondition',
  refund_exceeds_payment: 'failed_precondition',
  refund_not_in_review: 'failed_precondition',
  amount_invalid: 'invalid_argument',
  idempotency_key_reused: 'failed_precondition',
  public_url_unset: 'failed_precondition',
  provider_refused: 'failed_precondition',
  provider_unavailable: 'unavailable',
  offer_unknown: 'not_found',
  offer_exists: 'already_exists',
  offer_archived: 'failed_precondition',
  offer_invalid: 'invalid_argument',
  purchase_invalid: 'invalid_argument',
  currency_not_offered: 'invalid_argument',
  license_not_sellable: 'failed_precondition',
  return_url_refused: 'failed_precondition',
  return_origin_invalid: 'invalid_argument',
  order_unknown: 'not_found',
  order_refunded: 'failed_precondition',
  claim_invalid: 'permission_denied',
  mail_unknown: 'not_found',
  mail_not_configured: 'failed_precondition',
  mail_not_renderable: 'failed_precondition',
  mail_preview_invalid: 'invalid_argument',
  mail_template_unknown: 'not_found',
  mail_template_invalid: 'invalid_argument',
  language_invalid: 'invalid_argument',
  fee_rule_unknown: 'not_found',
  fee_rule_invalid: 'invalid_argument',
  fee_rule_locked: 'permission_denied',
  month_not_over: 'invalid_argument',
  months_in_use: 'failed_precondition',
  audit_log_broken: 'failed_precondition',
  audit_chain_unbroken: 'failed_precondition',
  prune_busy: 'unavailable',
  verify_busy: 'resource_exhausted',
  event_unknown: 'not_found',
  event_type_unknown: 'invalid_argument',
  endpoint_unknown: 'not_found',
  endpoint_url_invalid: 'invalid_argument',
  endpoint_disabled: 'failed_precondition',
  cursor_invalid: 'invalid_argument',
  cursor_pruned: 'failed_precondition',
  too_many: 'failed_precondition',
  overloaded: 'unavailable',
} as const satisfies Record<string, HubErrorKind>;

export type HubErrorCode = keyof typeof HUB_ERRORS;

/** Seats a license allows (-1: unlimited, 0: none) and seats active now. */
export type SeatUsage = { readonly limit: number; readonly used: number };

/** A request that the hub refuses. The caller sees `message`, so it contains no secret. */
export class HubError extends Error {
  readonly code: HubErrorCode;
  readonly seats: SeatUsage | undefined;
  /** The request field at fault, in lowerCamelCase. */
  readonly field: string | undefined;
  /** The HTTP method to use instead, with `method_not_allowed`. */
  readonly allow: string | undefined;
  /** The charge session that the request created. */
  readonly sessionId: string | undefined;

  constructor(
    code: HubErrorCode,
    message: string,
    about: { seats?: SeatUsage; field?: string; allow?: string; sessionId?: string } = {},
  ) {
    super(message);
    this.name = 'HubError';
    this.code = code;
    this.seats = about.seats;
    this.field = about.field;
    this.allow = about.allow;
    this.sessionId = about.sessionId;
  }
}

/** By the prefix of an id: the error of an unknown one, the noun, and the field of requests. */
const RESOURCES = {
  lic: ['license_unknown', 'license', 'licenseId'],
  seat: ['seat_unknown', 'seat', 'seatId'],
  chs: ['session_unknown', 'charge session', 'sessionId'],
  cb: ['callback_unknown', 'callback', 'callbackId'],
  dup: ['duplicate_payment_unknown', 'duplicate payment', 'duplicatePaymentId'],
  rfd: ['refund_unknown', 'refund', 'refundId'],
  fee: ['fee_rule_unknown', 'fee rule', 'feeRuleId'],
  tok: ['token_unknown', 'token', 'tokenId'],
  cus: ['customer_unknown', 'customer', 'customerId'],
  whe: ['endpoint_unknown', 'endpoint', 'endpointId'],
  mal: ['mail_unknown', 'mail', 'mailId'],
} as const satisfies Partial<Record<IdPrefix, readonly [code: HubErrorCode, noun: string, field: string]>>;

export type ResourcePrefix = keyof typeof RESOURCES;

/** The error for an id that names nothing. */
export function unknownId(prefix: ResourcePrefix): HubError {
  const [code, noun, field] = RESOURCES[prefix];
  return new HubError(code, `there is no ${noun} with this id`, { field });
}

export function appUnknown(): HubError {
  return new HubError('app_unknown', 'there is no app with this slug', { field: 'app' });
}

export function updateMaskInvalid(message: string): HubError {
  return new HubError('update_mask_invalid', message, { field: 'updateMask' });
}

export function offerInvalid(field: string, message: string): HubError {
  return new HubError('offer_invalid', message, { field });
}

/** The error for a hub that cannot keep up with its requests. */
export function overloaded(): HubError {
  return new HubError('overloaded', 'the hub is overloaded; try again in a few seconds');
}
