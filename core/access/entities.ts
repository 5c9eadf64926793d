// The tables of the access room: service tokens and the audit log.
import { defineEntity, p } from '@mikro-orm/core';

export const ROLES = ['admin', 'operator', 'service', 'viewer'] as const;
export type RoleName = (typeof ROLES)[number];

export const ServiceTokenSchema = defineEntity({
  name: 'ServiceToken',
  tableName: 'service_token',
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    role: p.enum(ROLES),
    /** SHA-256 of the token; the token itself is not stored. */
    tokenHash: p.blob().unique('service_token_hash_key'),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
  },
});

export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3),
    actor: p.text(),
    /** What was done, as `noun.verb`: `license.revoke`. */
    action: p.text(),
    /** The identifier of what it was done to. */
    subject: p.text(),
    detail: p.json<Record<string, unknown>>(),
    requestId: p.text().nullable(),
  },
  indexes: [{ name: 'audit_entry_subject_idx', properties: ['subject', 'id'] }],
});

export const accessEntities = [ServiceTokenSchema, AuditEntrySchema];
