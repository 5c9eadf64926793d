// Tables of the license module: apps, signing keys, limit profiles, key secrets, licenses and seats.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { CustomerSchema } from '../customer/entities.ts';
import { partial } from '../storage/schema/partial-index.ts';
import type { Limits, Metadata } from './terms.ts';

export const AppSchema = defineEntity({
  name: 'App',
  tableName: 'app',
  properties: {
    id: p.uuid().primary(),
    slug: p.text().unique('app_slug_key'),
    name: p.text(),
    createdAt: p.datetime(3),
    /** The lease of new licenses; null for none. */
    defaultLeaseDays: p.integer().nullable(),
    defaultGraceDays: p.integer().default(0),
    /** -1 means unlimited. */
    defaultSeatLimit: p.integer().default(1),
  },
  checks: [
    {
      name: 'app_default_seat_limit_range',
      expression: 'default_seat_limit >= -1 and default_seat_limit <> 0',
    },
  ],
});
export type App = InferEntity<typeof AppSchema>;

export const SigningKeySchema = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_key',
  properties: {
    id: p.uuid().primary(),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    kid: p.text().unique('signing_key_kid_key'),
    publicKeyPem: p.text(),
    /** The PKCS #8 private key, sealed for `signing_key:<id>`. */
    sealedPrivateKey: p.blob(),
    createdAt: p.datetime(3),
    retiredAt: p.datetime(3).nullable(),
    withdrawnAt: p.datetime(3).nullable(),
  },
  uniques: [partial('signing_key_active_key', ['app'], 'retired_at is null')],
  indexes: [{ name: 'signing_key_app_idx', properties: ['app'] }],
  checks: [
    { name: 'signing_key_retired_first', expression: 'withdrawn_at is null or retired_at is not null' },
  ],
});
export type SigningKey = InferEntity<typeof SigningKeySchema>;

export const LimitProfileSchema = defineEntity({
  name: 'LimitProfile',
  tableName: 'limit_profile',
  properties: {
    id: p.uuid().primary(),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    name: p.text(),
    limits: p.json<Limits>(),
  },
  uniques: [{ name: 'limit_profile_name_key', properties: ['app', 'name'] }],
});
export type LimitProfile = InferEntity<typeof LimitProfileSchema>;

export const KEY_SECRET_PURPOSES = ['derivation', 'import'] as const;

/** Secrets of license keys: `derivation` derives the hub's own keys, `import` hashes imported ones. */
export const KeySecretSchema = defineEntity({
  name: 'KeySecret',
  tableName: 'key_secret',
  properties: {
    id: p.uuid().primary(),
    purpose: p.enum(KEY_SECRET_PURPOSES),
    /** 32 random bytes, sealed for `key_secret:<id>`. */
    sealedSecret: p.blob(),
    createdAt: p.datetime(3),
    retiredAt: p.datetime(3).nullable(),
  },
  uniques: [partial('key_secret_active_key', ['purpose'], 'retired_at is null')],
});
export type KeySecret = InferEntity<typeof KeySecretSchema>;

export const LicenseSchema = defineEntity({
  name: 'License',
  tableName: 'license',
  properties: {
    id: p.uuid().primary(),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    /** Hash of the license key, see keys/license-key.ts; the key itself is not stored. */
    keyHash: p.blob().unique('license_key_hash_key'),
    keyHint: p.text(),
    /**
     * The secret that the key is derived from; null for an imported key, and for one older than derivation.
     */
    keySecret: () => p.manyToOne(KeySecretSchema).nullable().deleteRule('restrict'),
    /** Counts the keys of the license, from 1. */
    keyGeneration: p.integer().default(1),
    customer: () => p.manyToOne(CustomerSchema).nullable().deleteRule('restrict'),
    /** -1 means unlimited, 0 none. */
    seatLimit: p.integer(),
    /** Number of active seats. Only the triggers of `seat` write it. */
    seatsUsed: p.integer().default(0),
    limits: p.json<Limits>().nullable(),
    limitProfile: () => p.manyToOne(LimitProfileSchema).nullable().deleteRule('restrict'),
    leaseDays: p.integer().nullable(),
    expiresAt: p.datetime(3).nullable(),
    /** Days that the license stays valid after it expires. */
    graceDays: p.integer().default(0),
    /** How long it is valid from its first activation, which clears it; an interval of PostgreSQL. */
    validFor: p.string().columnType('interval').nullable(),
    /** Sorted. */
    features: p.array<string>().default([]),
    metadata: p.json<Metadata>().defaultRaw(`'{}'`),
    /** The keys of `metadata` that signed copies contain. */
    signedMetadata: p.array<string>().default([]),
    /** Counts the changes of the terms, from 1. */
    termsVersion: p.integer().default(1),
    createdAt: p.datetime(3),
    suspendedAt: p.datetime(3).nullable(),
    suspendReason: p.text().nullable(),
    revokedAt: p.datetime(3).nullable(),
    revokeReason: p.text().nullable(),
    /** The day in UTC when a machine last used the license. */
    lastActiveOn: p
      .date()
      .formula((license) => `(select last_active_on from license_activity where license_id = ${license}.id)`)
      .nullable(),
  },
  indexes: [
    // Lists of one app, newest first: ids are ordered by time.
    { name: 'license_app_idx', properties: ['app', 'id'] },
    { name: 'license_customer_idx', properties: ['customer', 'id'] },
    partial('license_app_customer_idx', ['app', 'customer', 'id'], 'customer_id is not null'),
    { name: 'license_key_hint_idx', properties: ['keyHint', 'id'] },
    partial('license_grace_idx', ['graceDays', 'expiresAt', 'id'], 'grace_days > 0'),
    partial('license_key_secret_idx', ['keySecret'], 'key_secret_id is not null'),
    partial('license_expires_idx', ['expiresAt', 'id'], 'expires_at is not null'),
    {
      name: 'license_ends_idx',
      expression: `create index license_ends_idx on license (license_ends_at(expires_at, grace_days), id)
        where expires_at is not null`,
    },
    partial('license_revoked_idx', ['id'], 'revoked_at is not null'),
    partial('license_suspended_idx', ['id'], 'suspended_at is not null'),
    {
      name: 'license_metadata_idx',
      expression: `create index license_metadata_idx on license using gin (metadata jsonb_path_ops)
        where metadata <> '{}'`,
    },
    {
      name: 'license_metadata_grams_idx',
      expression: `create index license_metadata_grams_idx on license using gin (metadata_grams(metadata))
        where metadata <> '{}'`,
    },
  ],
  checks: [
    { name: 'license_seat_limit_range', expression: 'seat_limit >= -1' },
    { name: 'license_seats_used_range', expression: 'seats_used >= 0' },
    { name: 'license_grace_days_range', expression: 'grace_days >= 0' },
    { name: 'license_one_validity', expression: 'valid_for is null or expires_at is null' },
  ],
});
export type License = InferEntity<typeof LicenseSchema>;

/** The day when a machine last used each license. A trigger adds the row of a new license. */
const LicenseActivitySchema = defineEntity({
  name: 'LicenseActivity',
  tableName: 'license_activity',
  properties: {
    license: () => p.oneToOne(LicenseSchema).primary().owner().deleteRule('cascade'),
    /** A day in UTC; null before the first activation. */
    lastActiveOn: p.date().nullable(),
  },
  indexes: [
    {
      name: 'license_activity_day_idx',
      expression: `create index license_activity_day_idx on license_activity
        (coalesce(last_active_on, '1970-01-01'::date), license_id)`,
    },
  ],
});

/** The hashes of keys that were replaced: no import may bring such a key back. */
const ReplacedKeySchema = defineEntity({
  name: 'ReplacedKey',
  tableName: 'replaced_key',
  properties: {
    keyHash: p.blob().primary(),
    license: () => p.manyToOne(LicenseSchema).deleteRule('restrict'),
  },
});

export const SeatSchema = defineEntity({
  name: 'Seat',
  tableName: 'seat',
  properties: {
    id: p.uuid().primary(),
    license: () => p.manyToOne(LicenseSchema).deleteRule('restrict'),
    machineFingerprint: p.text(),
    machineLabel: p.text(),
    appVersion: p.text(),
    activatedAt: p.datetime(3),
    lastSeenAt: p.datetime(3),
    releasedAt: p.datetime(3).nullable(),
  },
  uniques: [
    // One active seat per machine. Also finds the active seats of a license.
    partial('seat_active_key', ['license', 'machineFingerprint'], 'released_at is null'),
  ],
  indexes: [
    // Finds released seats of a machine. There is no index of all seats of a license: the planner would use
    // it for active seats too, and read the released ones with them.
    partial('seat_released_idx', ['license', 'machineFingerprint'], 'released_at is not null'),
  ],
});
export type Seat = InferEntity<typeof SeatSchema>;

export const licenseEntities = [
  AppSchema,
  SigningKeySchema,
  LimitProfileSchema,
  KeySecretSchema,
  LicenseSchema,
  LicenseActivitySchema,
  ReplacedKeySchema,
  SeatSchema,
];
