// The tables of the payment room.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const ENVIRONMENTS = ['sandbox', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
export const CHARGE_STATUSES = ['pending', 'success', 'failed', 'cancelled'] as const;
export type ChargeStatusName = (typeof CHARGE_STATUSES)[number];
export const CALLBACK_STATES = ['received', 'settled', 'ignored', 'unresolved', 'mismatch', 'dead'] as const;
export type CallbackStateName = (typeof CALLBACK_STATES)[number];
/** Nothing writes `refund` yet. */
export const USAGE_KINDS = ['payment', 'reversal', 'refund', 'later_payment'] as const;
export type UsageKindName = (typeof USAGE_KINDS)[number];

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
    /** JSON of the credentials by name, sealed for `slot:<id>`. */
    sealedCredentials: p.blob(),
    createdAt: p.datetime(3),
    rotatedAt: p.datetime(3),
    disabledAt: p.datetime(3).nullable(),
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
    /** Whoever set it asks for a new token until then; the others wait. */
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
    /** Whether the provider itself said so; what only a callback claimed may be a forgery. */
    statusVerified: p.boolean().default(false),
    /** Changes of the status that were only claimed, by callbacks. */
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
    /** Settled by: null unless it was paid. */
    gatewayTransactionId: p.text().nullable(),
    createdAt: p.datetime(3),
    /** When the sweep asks the provider next; null once there is nothing more to ask. */
    nextCheckAt: p.datetime(3).nullable(),
    checks: p.integer(),
    /** Lease of the one who asks the provider now, over all hubs. */
    verifyingUntil: p.datetime(3).nullable(),
    verifyingBy: p.uuid().nullable(),
    /** Counts how often that lease was taken: a settlement under an older lease changes nothing. */
    fencingNumber: p.integer().default(0),
    /** When a callback of the paid session first named another payment; null once the provider was asked about it. */
    otherPaymentSince: p.datetime(3).nullable(),
    /** Questions that callbacks have caused. */
    callbackQuestions: p.integer().default(0),
    /** Until then callbacks cause no more. */
    questionAfter: p.datetime(3).nullable(),
    /** The provider's rating of the payment that was last verified, 0 being safe; null if it told none. */
    riskLevel: p.integer().nullable(),
    riskTitle: p.text().nullable(),
    /** Since when a verified payment has been held for review; null if none is. */
    heldAt: p.datetime(3).nullable(),
    /** When an operator let it settle in spite of its risk. */
    riskReleasedAt: p.datetime(3).nullable(),
  },
  uniques: [
    {
      name: 'charge_session_idempotency_key',
      properties: ['slot', 'idempotencyKey'],
      where: 'idempotency_key is not null',
    },
    // The second way to resolve a callback.
    {
      name: 'charge_session_provider_payment_id_key',
      properties: ['providerPaymentId', 'slot'],
      where: 'provider_payment_id is not null',
    },
  ],
  indexes: [
    { name: 'charge_session_slot_idx', properties: ['slot', 'id'] },
    { name: 'charge_session_created_idx', properties: ['createdAt', 'id'] },
    { name: 'charge_session_order_reference_idx', properties: ['orderReference', 'id'] },
    // The sweep.
    {
      name: 'charge_session_slot_check_idx',
      properties: ['slot', 'nextCheckAt'],
      where: 'next_check_at is not null',
    },
    // How many wait for their customers, and since when.
    {
      name: 'charge_session_pending_idx',
      properties: ['createdAt'],
      where: `status = 'pending'`,
    },
    // Those that are held for review, and since when.
    { name: 'charge_session_held_idx', properties: ['heldAt', 'id'], where: 'held_at is not null' },
  ],
  checks: [{ name: 'charge_session_amount_positive', expression: 'amount_minor > 0' }],
});
export type ChargeSession = InferEntity<typeof ChargeSessionSchema>;

export const CallbackSchema = defineEntity({
  name: 'Callback',
  tableName: 'callback',
  properties: {
    id: p.uuid().primary(),
    gateway: p.text(),
    /** `session_id` of the query as it was sent. */
    claimedSessionId: p.text().nullable(),
    fields: p.json<Record<string, string>>(),
    receivedAt: p.datetime(3),
    /** The session it was resolved to. */
    session: () => p.manyToOne(ChargeSessionSchema).nullable().deleteRule('restrict'),
    state: p.enum(CALLBACK_STATES),
    reason: p.text(),
    attempts: p.integer(),
    /** When an attempt first came to nothing, since its replay if there was one: it is given up a day later. */
    triedSince: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { name: 'callback_session_idx', properties: ['session', 'id'] },
    // Those that wait for the next question about their session.
    {
      name: 'callback_waiting_idx',
      properties: ['session', 'id'],
      where: `state = 'received' and session_id is not null`,
    },
    {
      name: 'callback_stray_idx',
      properties: ['id'],
      where: `state = 'received' and session_id is null`,
    },
    { name: 'callback_state_idx', properties: ['state', 'id'] },
  ],
});
export type Callback = InferEntity<typeof CallbackSchema>;

/** How many callbacks of a session were kept, and how many only counted; there is none before its first callback. */
export const CallbackCountSchema = defineEntity({
  name: 'CallbackCount',
  tableName: 'callback_count',
  properties: {
    session: () => p.manyToOne(ChargeSessionSchema).primary().deleteRule('restrict'),
    /** Callbacks that were kept, or came when others took the last places. */
    kept: p.integer(),
    /** Only counted, by the state that the journal would have them in. */
    ignored: p.bigint(),
    mismatch: p.bigint(),
    /** When the last counted callback that needs a provider query arrived. */
    askedForAt: p.datetime(3).nullable(),
    /** Payment ids other than the session's that the provider is to be asked about, the newest last: other-checkouts.ts. */
    otherCheckouts: p.array().default([]),
  },
});

export const VerificationSchema = defineEntity({
  name: 'Verification',
  tableName: 'verification',
  properties: {
    id: p.uuid().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
    /** On whose behalf; null for the sweep and for rechecks. */
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
    /** Of a payment the id of its session: the primary key allows one, over all partitions. Others have their own. */
    id: p.uuid().primary(),
    kind: p.enum(USAGE_KINDS),
    session: () => p.manyToOne(ChargeSessionSchema).createForeignKeyConstraint(false),
    /** For a reversal: the entry it reverses. */
    reverses: p.uuid().nullable(),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    gateway: p.text(),
    gatewayTransactionId: p.text(),
    /** Negative in a reversal or a refund: the sum over any entries is the net amount. */
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    feeTotalMinor: p.bigint(),
    orderReference: p.text(),
    settledAt: p.datetime(3),
  },
  indexes: [
    { name: 'usage_log_settled_idx', properties: ['settledAt', 'id'] },
    { name: 'usage_log_slot_idx', properties: ['slot', 'settledAt', 'id'] },
    // What followed the payment of a session.
    { name: 'usage_log_session_idx', properties: ['session', 'id'], where: `kind <> 'payment'` },
  ],
  checks: [
    { name: 'usage_log_payment_check', expression: `(kind = 'payment') = (id = session_id)` },
    { name: 'usage_log_reverses_check', expression: `(kind = 'reversal') = (reverses is not null)` },
    { name: 'usage_log_sign_check', expression: `(kind in ('reversal', 'refund')) = (amount_minor < 0)` },
  ],
});
export type UsageLog = InferEntity<typeof UsageLogSchema>;

export const PROOF_KINDS = ['payment', 'bank'] as const;

/** What has paid a session, for good: the same proof never pays two, not even after a reversal. */
export const PaymentProofSchema = defineEntity({
  name: 'PaymentProof',
  tableName: 'payment_proof',
  properties: {
    gateway: p.text().primary(),
    /** `payment`: the provider's id of the payment; `bank`: the bank's. */
    kind: p.enum(PROOF_KINDS).primary(),
    value: p.text().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
  },
});

/** A payment that stands at the provider for a session that another payment had paid. */
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
    /** The provider's id of its checkout; that of the session where the provider tells no other. */
    providerPaymentId: p.text(),
    amountMinor: p.bigint(),
    currency: p.character().length(3),
    foundAt: p.datetime(3),
    /** When an operator marked it as handled; null while it is open. */
    resolvedAt: p.datetime(3).nullable(),
    /** What the operator did about it. */
    resolution: p.text(),
  },
  uniques: [
    { name: 'duplicate_payment_transaction_key', properties: ['gateway', 'gatewayTransactionId'] },
    {
      name: 'duplicate_payment_bank_key',
      properties: ['gateway', 'bankTransactionId'],
      where: 'bank_transaction_id is not null',
    },
  ],
  indexes: [
    { name: 'duplicate_payment_session_idx', properties: ['session', 'id'] },
    { name: 'duplicate_payment_slot_idx', properties: ['slot', 'id'] },
    { name: 'duplicate_payment_open_idx', properties: ['id'], where: 'resolved_at is null' },
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
    /** The end that it was added with; null: open-ended. `validTo` is earlier once it was replaced or retired. */
    declaredTo: p.datetime(3).nullable(),
    /** Whether rules added by limited tokens may take its place in their slots. */
    slotsMayOverride: p.boolean().default(false),
    /** Whether it was added by a limited token. */
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
  FeeRuleSchema,
  FeeLineSchema,
];
