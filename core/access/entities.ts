// Tables of the access module: service tokens. The tables of the audit log are in audit/entities.ts.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { auditEntities } from '../audit/entities.ts';
import { partial } from '../storage/schema/partial-index.ts';

export const ROLES = ['admin', 'operator', 'service', 'viewer', 'monitor', 'gateway', 'shop'] as const;
export type RoleName = (typeof ROLES)[number];

/** Slugs of apps and names of slots that a token is limited to. */
export type Scope = { readonly apps: readonly string[]; readonly slots: readonly string[] };

export const ServiceTokenSchema = defineEntity({
  name: 'ServiceToken',
  tableName: 'service_token',
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    role: p.enum(ROLES),
    /** SHA-256 of the token; the token itself is not stored. Null if the caller uses a certificate. */
    tokenHash: p.blob().unique('service_token_hash_key').nullable(),
    /** Subject of that certificate in the form of RFC 4514. */
    certificateSubject: p.text().nullable(),
    /** Null if not limited. */
    scope: p.json<Scope>().nullable(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
    lastUsedAt: p.datetime(3).nullable(),
  },
  uniques: [partial('service_token_certificate_subject_key', ['certificateSubject'], 'revoked_at is null')],
  checks: [
    { name: 'service_token_one_proof', expression: '(token_hash is null) <> (certificate_subject is null)' },
  ],
});
export type ServiceToken = InferEntity<typeof ServiceTokenSchema>;

export const accessEntities = [ServiceTokenSchema, ...auditEntities];
