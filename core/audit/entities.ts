// Tables of the audit log: entries, and the chain that reveals missing and altered ones.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { partial } from '../storage/schema/partial-index.ts';

/**
 * `token` and `certificate`: a caller, by its credential. `hub`: the hub itself. `local`: a hubctl command
 * that works on the database without a hub.
 */
export const ACTOR_KINDS = ['token', 'certificate', 'hub', 'local'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** A JSON object with values of a resource. Never a secret. */
export type Facts = Readonly<Record<string, unknown>>;

export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3),
    actor: p.text(),
    actorKind: p.enum(ACTOR_KINDS).nullable(),
    /** The service token that the actor used, or that is registered for the certificate. */
    actorTokenId: p.uuid().nullable(),
    /** Subject of the client certificate that the caller presented, in the form of RFC 4514. */
    actorCertificate: p.text().nullable(),
    /** `noun.verb`, such as `license.revoke`. */
    action: p.text(),
    /** Id of the changed resource. */
    subject: p.text(),
    /** Null if the resource is new. */
    before: p.json<Facts>().nullable(),
    /** Null if the resource was removed. */
    after: p.json<Facts>().nullable(),
    /** Further context of the change. */
    detail: p.json<Facts>(),
    requestId: p.text().nullable(),
  },
  indexes: [
    { name: 'audit_entry_subject_idx', properties: ['subject', 'id'] },
    { name: 'audit_entry_actor_idx', properties: ['actor', 'id'] },
    partial('audit_entry_actor_token_idx', ['actorTokenId', 'id'], 'actor_token_id is not null'),
    { name: 'audit_entry_actor_kind_idx', properties: ['actorKind', 'id'], where: "actor_kind <> 'hub'" },
    { name: 'audit_entry_action_idx', properties: ['action', 'id'] },
    { name: 'audit_entry_at_idx', properties: ['at', 'id'] },
  ],
});
export type AuditEntry = InferEntity<typeof AuditEntrySchema>;

const AuditLinkSchema = defineEntity({
  name: 'AuditLink',
  tableName: 'audit_link',
  properties: {
    entryId: p.uuid().primary(),
    /** From 1, without gaps. Unique, because hubs link under a lock. */
    seq: p.bigint(),
    linkedAt: p.datetime(3),
    /** Hash of the entry and the previous link: see chain.ts. */
    hash: p.blob(),
  },
  indexes: [{ name: 'audit_link_seq_idx', properties: ['seq'] }],
});

/** Runs of pruned links. `hash` belongs to the last one, which the next link refers to. */
const AuditAnchorSchema = defineEntity({
  name: 'AuditAnchor',
  tableName: 'audit_anchor',
  properties: {
    seq: p.bigint().primary().autoincrement(false),
    firstSeq: p.bigint(),
    hash: p.blob(),
    prunedAt: p.datetime(3),
    /** MAC with the key of the chain: see anchors.ts. */
    mac: p.blob(),
  },
});

/** One row: the newest link. */
const AuditHeadSchema = defineEntity({
  name: 'AuditHead',
  tableName: 'audit_head',
  properties: {
    id: p.smallint().primary().autoincrement(false),
    seq: p.bigint(),
    hash: p.blob(),
    /** MAC with the key of the chain: see recorded-head.ts. */
    mac: p.blob(),
    keyId: p.uuid(),
  },
});

/** Queue of entries without a link; a trigger fills it. */
const AuditUnlinkedSchema = defineEntity({
  name: 'AuditUnlinked',
  tableName: 'audit_unlinked',
  properties: { entryId: p.uuid().primary() },
});

const AuditKeySchema = defineEntity({
  name: 'AuditKey',
  tableName: 'audit_key',
  properties: {
    id: p.uuid().primary(),
    /** The key of the chain and its start, sealed for `audit_key:<id>`: see chain-key.ts. */
    sealedKey: p.blob(),
    createdAt: p.datetime(3),
  },
});

export const auditEntities = [
  AuditEntrySchema,
  AuditLinkSchema,
  AuditAnchorSchema,
  AuditHeadSchema,
  AuditUnlinkedSchema,
  AuditKeySchema,
];
