// The tables of the payment module.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { partial } from '../storage/schema/partial-index.ts';

export const ENVIRONMENTS = ['sandbox', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
export const CHARGE_STATUSES = ['pending', 'success', 'failed', 'cancelled'] as const;
export type ChargeStatusName = (typeof CHARGE_STATUSES)[number];
export const CALLBACK_STATES = ['received', 'settled', 'ignored', 'unresolved', 'mismatch', 'dead'] as const;
export type CallbackStateName = (typeof CALLBACK_STATES)[number];
export const USAGE_KINDS = ['payment', 'reversal', 'refund', 'later_payment'] as const;
export type UsageKindName = (typeof USAGE_KINDS)[number];
export const REFUND_STATES = ['pending', 'succeeded', 'failed'] as const;
export type RefundStateName = (typeof REFUND_STATES)[number];
const REFUND_KINDS = ['refund', 'dispute'] as const;
const REFUND_ORIGINS = ['hub', 'provider'] as const;

export const SlotSchema = defineEntity({
  name: 'Slot',
  tableName: 'slot',
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique('slot_name_key'),
    gateway: p.text(),
    environment: p.enum(ENVIRONMENTS),
    baseUrl: p.text(),
    options: p.json<Record<string, string>>(),
    /** JSON object of the credentials by name, sealed for `slot:<id>`. */
    sealedCredentials: p.blob(),
    createdAt: p.datetime(3),
    rotatedAt: p.datetime(3),
    disabledAt: p.datetime(3).nullable(),
    /** The origins of shops to which customers may return. */
    returnOrigins: p.array<string>().default([]),
  },
});
export type Slot = InferEntity<typeof SlotSchema>;

export const ProviderTokenSchema = defineEntity({
  name: 'ProviderToken',
  tableName: 'provider_token',
  properties: {
    slot: () => p.manyToOne(SlotSchema).primary().deleteRule('cascade'),
    /** The token, sealed for `provider_token:<slot id>`; null before the first grant. */
    sealedToken: p.blob().nullable(),
    expiresAt: p.datetime(3).nullable(),
    /** Until then the process that set it may request a new token; the others wait. */
    grantingUntil: p.datetime(3).nullable(),
  },
});

export const ChargeSessionSchema = defineEntity({
  name: 'ChargeSession',
  tableName: 'charge_session',
  properties: {
    id: p.uuid().primary(),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    status: p.enum(CHARGE_STATUSES),
    /** Whether the provider confirmed the status. A status that only a callback claimed may be forged. */
    statusVerified: p.boolean().default(false),
    /** How often an unverified callback has changed the status. */
    statusClaims: p.integer().default(0),
    statusReason: p.text(),
    statusChangedAt: p.datetime(3),
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    orderReference: p.text(),
    customer: p.json<Record<string, string>>(),
    metadata: p.json<Record<string, string>>(),
    merchantTransactionId: p.text().unique('charge_session_merchant_transaction_id_key'),
    /** Null until the provider has made the checkout. */
    providerPaymentId: p.text().nullable(),
    checkoutUrl: p.text().nullable(),
    /** Unique within the slot. */
    idempotencyKey: p.text().nullable(),
    /** SHA-256 of the request that came with the idempotency key. */
    requestHash: p.blob().nullable(),
    /** The payment that settled the session; null if none did. */
    gatewayTransactionId: p.text().nullable(),
    createdAt: p.datetime(3),
    /** When the sweep verifies the session next; null for never. */
    nextCheckAt: p.datetime(3).nullable(),
    checks: p.integer(),
    /** The verification lease, valid across all hubs. */
    verifyingUntil: p.datetime(3).nullable(),
    verifyingBy: p.uuid().nullable(),
    /** Counts verification leases. A settlement under an older lease changes nothing. */
    fencingNumber: p.integer().default(0),
    /** When a callback of the paid session first named another payment; null once that is checked. */
    otherPaymentSince: p.datetime(3).nullable(),
    callbackVerifications: p.integer().default(0),
    /** Until then callbacks trigger no verification. */
    verificationAllowedAt: p.datetime(3).nullable(),
    /** The provider's rating of the last verified payment; 0 is safe, null is unrated. */
    riskLevel: p.integer().nullable(),
    riskTitle: p.text().nullable(),
    /** Since when a verified payment has been held for review; null if none is held. */
    heldAt: p.datetime(3).nullable(),
    /** When an operator released the payment for settlement despite its risk. */
    riskReleasedAt: p.datetime(3).nullable(),
    /** Whether it sells an offer; the table `purchase` has the details. */
    hasPurchase: p.boolean().default(false),
    /** Whether a callback has ever waited for a check of the session; never reset. If false, none waits. */
    callbacksWaited: p.boolean().default(false),
    /** Where the customer's browser returns to, without the session's id. */
    returnUrl: p.text().nullable(),
    /** Language of the customer's mails, as a BCP 47 tag. */
    language: p.text().nullable(),
    /** The bank's id of the payment that settled the session, if the provider gives it. */
    bankTransactionId: p.text().nullable(),
    /** The part of the current payment that was paid back, by succeeded refunds and lost disputes. */
    refundedMinor: p.bigint().defaultRaw('0'),
    /** When the hub next checks the paid session for refunds at the provider; null for never. */
    refundCheckAt: p.datetime(3).nullable(),
  },
  uniques: [
    partial('charge_session_idempotency_key', ['slot', 'idempotencyKey'], 'idempotency_key is not null'),
    // Callbacks are resolved by it.
    partial(
      'charge_session_provider_payment_id_key',
      ['providerPaymentId', 'slot'],
      'provider_payment_id is not null',
    ),
  ],
  indexes: [
    { name: 'charge_session_slot_idx', properties: ['slot', 'id'] },
    { name: 'charge_session_created_idx', properties: ['createdAt', 'id'] },
    { name: 'charge_session_order_reference_idx', properties: ['orderReference', 'id'] },
    partial('charge_session_slot_check_idx', ['slot', 'nextCheckAt'], 'next_check_at is not null'),
    partial('charge_session_refund_check_idx', ['slot', 'refundCheckAt'], 'refund_check_at is not null'),
    // Pending sessions by age, for metrics.
    partial('charge_session_pending_idx', ['createdAt'], `status = 'pending'`),
    {
      name: 'charge_session_customer_email_idx',
      expression:
        'create index charge_session_customer_email_idx on charge_session ' +
        "(lower((customer->>'email'::text)), id) where (customer ->> 'email'::text) is not null",
    },
    partial('charge_session_held_idx', ['heldAt', 'id'], 'held_at is not null'),
  ],
  checks: [
    { name: 'charge_session_amount_positive', expression: 'amount_minor > 0' },
    {
      name: 'charge_session_refunded_range',
      expression: 'refunded_minor >= 0 and refunded_minor <= amount_minor',
    },
  ],
});
export type ChargeSession = InferEntity<typeof ChargeSessionSchema>;

export const CallbackSchema = defineEntity({
  name: 'Callback',
  tableName: 'callback',
  properties: {
    id: p.uuid().primary(),
    gateway: p.text(),
    /** `session_id` of the callback URL, unchecked. */
    claimedSessionId: p.text().nullable(),
    fields: p.json<Record<string, string>>(),
    receivedAt: p.datetime(3),
    /** The session that the callback was resolved to. */
    session: () => p.manyToOne(ChargeSessionSchema).nullable().deleteRule('restrict'),
    state: p.enum(CALLBACK_STATES),
    reason: p.text(),
    attempts: p.integer(),
    /**
     * When an attempt first failed, or failed since the last replay. A day later the callback is given up.
     */
    triedSince: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { name: 'callback_session_idx', properties: ['session', 'id'] },
    // Callbacks that wait for the next verification of their session.
    partial('callback_waiting_idx', ['session', 'id'], `state = 'received' and session_id is not null`),
    partial('callback_stray_idx', ['id'], `state = 'received' and session_id is null`),
    { name: 'callback_state_idx', properties: ['state', 'id'] },
  ],
});
export type Callback = InferEntity<typeof CallbackSchema>;

/**
 * How many callbacks of a session were journaled and how many only counted. Exists from the first callback
 * on.
 */
export const CallbackCountSchema = defineEntity({
  name: 'CallbackCount',
  tableName: 'callback_count',
  properties: {
    session: () => p.manyToOne(ChargeSessionSchema).primary().deleteRule('restrict'),
    /** Callbacks that were journaled, or arrived while others took the last places. */
    kept: p.integer(),
    /** Callbacks that were only counted, by the state they would have in the journal. */
    ignored: p.bigint(),
    mismatch: p.bigint(),
    /** When the last counted callback that needs a verification arrived. */
    askedForAt: p.datetime(3).nullable(),
    /**
     * Ids of other checkouts that are still to be checked, the newest last. See duplicates/mark-for-check.ts.
     */
    otherCheckouts: p.array().default([]),
  },
});

export const VerificationSchema = defineEntity({
  name: 'Verification',
  tableName: 'verification',
  properties: {
    id: p.uuid().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
    /** The callback that triggered the verification; null for the sweep and for rechecks. */
    callback: () => p.manyToOne(CallbackSchema).nullable().createForeignKeyConstraint(false),
    operation: p.text(),
    outcome: p.text(),
    detail: p.text(),
    askedAt: p.datetime(3),
    durationMs: p.integer(),
  },
  indexes: [
    { name: 'verification_session_idx', properties: ['session', 'id'] },
    { name: 'verification_callback_idx', properties: ['callback'] },
  ],
});
export type Verification = InferEntity<typeof VerificationSchema>;

export const UsageLogSchema = defineEntity({
  name: 'UsageLog',
  tableName: 'usage_log',
  properties: {
    /**
     * For kind `payment` the session's id, so that the primary key allows one of them over all partitions.
     */
    id: p.uuid().primary(),
    kind: p.enum(USAGE_KINDS),
    session: () => p.manyToOne(ChargeSessionSchema).createForeignKeyConstraint(false),
    /** For a reversal: the entry it reverses. */
    reverses: p.uuid().nullable(),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    gateway: p.text(),
    gatewayTransactionId: p.text(),
    /** Negative for a reversal or a refund, so that a sum over entries is the net amount. */
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    feeTotalMinor: p.bigint(),
    /** What the provider says the vendor receives; null if it did not say. */
    receivedMinor: p.bigint().nullable(),
    /** The store's currency, which may differ from that of the payment. */
    receivedCurrency: p.character().length(3).nullable(),
    orderReference: p.text(),
    settledAt: p.datetime(3),
  },
  indexes: [
    { name: 'usage_log_settled_idx', properties: ['settledAt', 'id'] },
    { name: 'usage_log_slot_idx', properties: ['slot', 'settledAt', 'id'] },
    partial('usage_log_session_idx', ['session', 'id'], `kind <> 'payment'`),
  ],
  checks: [
    { name: 'usage_log_payment_check', expression: `(kind = 'payment') = (id = session_id)` },
    { name: 'usage_log_reverses_check', expression: `(kind = 'reversal') = (reverses is not null)` },
    { name: 'usage_log_sign_check', expression: `(kind in ('reversal', 'refund')) = (amount_minor < 0)` },
  ],
});
export type UsageLog = InferEntity<typeof UsageLogSchema>;

export const PROOF_KINDS = ['payment', 'bank'] as const;

/** Proofs of payment. A proof pays one session only, even after a reversal. */
export const PaymentProofSchema = defineEntity({
  name: 'PaymentProof',
  tableName: 'payment_proof',
  properties: {
    gateway: p.text().primary(),
    /** `payment`: the provider's id of the payment; `bank`: the bank's id. */
    kind: p.enum(PROOF_KINDS).primary(),
    value: p.text().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
  },
});

/**
 * A refund of a session's payment, or a dispute about it. Includes refunds that the merchant made at the
 * provider.
 */
export const RefundSchema = defineEntity({
  name: 'Refund',
  tableName: 'refund',
  properties: {
    /** Also the id of its usage log entry, so that it has one at most. */
    id: p.uuid().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    gateway: p.text(),
    /** The payment: that of the session when the refund was stored. */
    gatewayTransactionId: p.text(),
    kind: p.enum(REFUND_KINDS),
    /** `provider`: the merchant made it at the provider. */
    origin: p.enum(REFUND_ORIGINS),
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    reason: p.text(),
    state: p.enum(REFUND_STATES),
    stateReason: p.text(),
    /** Null until the provider has answered. */
    gatewayRefundId: p.text().nullable(),
    /** Unique within the session. */
    idempotencyKey: p.text().nullable(),
    /** SHA-256 of the request that came with the idempotency key. */
    requestHash: p.blob().nullable(),
    /** Why an operator has to review it; empty if nobody has to. */
    reviewReason: p.text().default(''),
    /** Whether the review is about a partial refund that pays for some of the licenses of an order. */
    reviewsPart: p.boolean().default(false),
    reviewedAt: p.datetime(3).nullable(),
    resolution: p.text().default(''),
    createdAt: p.datetime(3),
    finishedAt: p.datetime(3).nullable(),
    /** When the hub last requested it from the provider; null if it has to, and for one of the provider. */
    requestedAt: p.datetime(3).nullable(),
    requests: p.integer().default(0),
    /** Since when the provider's answers have not contained it; null if they have. */
    missingSince: p.datetime(3).nullable(),
    /** When the hub next asks the provider about a pending one. */
    nextCheckAt: p.datetime(3).nullable(),
    /** How often the hub has asked. */
    checks: p.integer().default(0),
  },
  uniques: [
    partial('refund_gateway_refund_key', ['gateway', 'gatewayRefundId'], 'gateway_refund_id is not null'),
    partial('refund_idempotency_key', ['session', 'idempotencyKey'], 'idempotency_key is not null'),
  ],
  indexes: [
    { name: 'refund_session_idx', properties: ['session', 'id'] },
    { name: 'refund_slot_idx', properties: ['slot', 'id'] },
    { name: 'refund_state_idx', properties: ['state', 'id'] },
    partial('refund_review_idx', ['id'], `review_reason <> '' and reviewed_at is null`),
    partial('refund_due_idx', ['slot', 'nextCheckAt'], 'next_check_at is not null'),
    // Pending refunds by age, for metrics.
    partial('refund_pending_idx', ['kind', 'createdAt'], `state = 'pending'`),
  ],
  checks: [
    { name: 'refund_amount_positive', expression: 'amount_minor > 0' },
    { name: 'refund_pending_check', expression: `(state = 'pending') = (finished_at is null)` },
  ],
});
export type Refund = InferEntity<typeof RefundSchema>;

/** A valid payment for a session that another payment has settled. */
export const DuplicatePaymentSchema = defineEntity({
  name: 'DuplicatePayment',
  tableName: 'duplicate_payment',
  properties: {
    id: p.uuid().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    gateway: p.text(),
    gatewayTransactionId: p.text(),
    bankTransactionId: p.text().nullable(),
    /** The provider's id of its checkout; that of the session if the provider reports no other. */
    providerPaymentId: p.text(),
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    foundAt: p.datetime(3),
    /** When an operator marked it as handled; null while open. */
    resolvedAt: p.datetime(3).nullable(),
    resolution: p.text(),
  },
  uniques: [
    { name: 'duplicate_payment_transaction_key', properties: ['gateway', 'gatewayTransactionId'] },
    partial(
      'duplicate_payment_bank_key',
      ['gateway', 'bankTransactionId'],
      'bank_transaction_id is not null',
    ),
  ],
  indexes: [
    { name: 'duplicate_payment_session_idx', properties: ['session', 'id'] },
    { name: 'duplicate_payment_slot_idx', properties: ['slot', 'id'] },
    partial('duplicate_payment_open_idx', ['id'], 'resolved_at is null'),
  ],
});
export type DuplicatePayment = InferEntity<typeof DuplicatePaymentSchema>;

export const FeeRuleSchema = defineEntity({
  name: 'FeeRule',
  tableName: 'fee_rule',
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    version: p.integer(),
    gateway: p.text().nullable(),
    slot: () => p.manyToOne(SlotSchema).nullable().deleteRule('restrict'),
    currency: p.character().length(3).nullable(),
    basisPoints: p.integer(),
    fixedMinor: p.bigint(),
    minMinor: p.bigint().nullable(),
    maxMinor: p.bigint().nullable(),
    validFrom: p.datetime(3),
    validTo: p.datetime(3).nullable(),
    /** The original end; null if open-ended. `validTo` is earlier if the rule was replaced or retired. */
    declaredTo: p.datetime(3).nullable(),
    /** Whether rules added by limited tokens may override it in their slots. */
    slotsMayOverride: p.boolean().default(false),
    /** Whether a limited token added it. */
    addedBySlot: p.boolean().default(false),
    createdAt: p.datetime(3),
  },
  indexes: [{ name: 'fee_rule_name_idx', properties: ['name', 'version'] }],
  checks: [
    { name: 'fee_rule_basis_points_range', expression: 'basis_points >= 0 and basis_points <= 10000' },
  ],
});
export type FeeRule = InferEntity<typeof FeeRuleSchema>;

export const FeeLineSchema = defineEntity({
  name: 'FeeLine',
  tableName: 'fee_line',
  properties: {
    usageLogId: p.uuid().primary(),
    rule: p.text().primary(),
    feeRule: () => p.manyToOne(FeeRuleSchema).deleteRule('restrict'),
    ruleVersion: p.integer(),
    amountMinor: p.bigint(),
  },
});
export type FeeLine = InferEntity<typeof FeeLineSchema>;

export const paymentEntities = [
  SlotSchema,
  ProviderTokenSchema,
  ChargeSessionSchema,
  CallbackSchema,
  CallbackCountSchema,
  VerificationSchema,
  UsageLogSchema,
  PaymentProofSchema,
  DuplicatePaymentSchema,
  RefundSchema,
  FeeRuleSchema,
  FeeLineSchema,
];
