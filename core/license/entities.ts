// Tables of the license module: apps, signing keys, limit profiles, licenses and seats.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Limits } from './terms.ts';

export const AppSchema = defineEntity({
  name: 'App',
  tableName: 'app',
  properties: {
    id: p.uuid().primary(),
    slug: p.text().unique('app_slug_key'),
    name: p.text(),
    createdAt: p.datetime(3),
  },
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
  uniques: [{ name: 'signing_key_active_key', properties: ['app'], where: 'retired_at is null' }],
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

export const LicenseSchema = defineEntity({
  name: 'License',
  tableName: 'license',
  properties: {
    id: p.uuid().primary(),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    /** SHA-256 of the normalized license key; the key itself is not stored. */
    keyHash: p.blob().unique('license_key_hash_key'),
    keyHint: p.text(),
    customer: p.text().nullable(),
    /** -1 means unlimited, 0 none. */
    seatLimit: p.integer(),
    /** Number of active seats. Only the triggers of `seat` write it. */
    seatsUsed: p.integer().default(0),
    limits: p.json<Limits>().nullable(),
    limitProfile: () => p.manyToOne(LimitProfileSchema).nullable().deleteRule('restrict'),
    leaseDays: p.integer().nullable(),
    expiresAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    revokedAt: p.datetime(3).nullable(),
    revokeReason: p.text().nullable(),
  },
  indexes: [
    // Lists of one app, newest first: ids are ordered by time.
    { name: 'license_app_idx', properties: ['app', 'id'] },
    { name: 'license_customer_idx', properties: ['customer', 'id'] },
    { name: 'license_key_hint_idx', properties: ['keyHint'] },
  ],
  checks: [
    { name: 'license_seat_limit_range', expression: 'seat_limit >= -1' },
    { name: 'license_seats_used_range', expression: 'seats_used >= 0' },
  ],
});
export type License = InferEntity<typeof LicenseSchema>;

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
    {
      name: 'seat_active_key',
      properties: ['license', 'machineFingerprint'],
      where: 'released_at is null',
    },
  ],
  indexes: [
    // Finds released seats of a machine. There is no index of all seats of a license: the planner would use
    // it for active seats too, and read the released ones with them.
    {
      name: 'seat_released_idx',
      properties: ['license', 'machineFingerprint'],
      where: 'released_at is not null',
    },
  ],
});
export type Seat = InferEntity<typeof SeatSchema>;

export const licenseEntities = [AppSchema, SigningKeySchema, LimitProfileSchema, LicenseSchema, SeatSchema];
