// The tables of the audit log: its entries, and the chain that shows whether one is missing or was altered.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/**
 * What an actor is: a caller with a service token, a caller whose client certificate stands for a token, the hub itself, or
 * a command of hubctl that works on the database without a hub.
 */
export const ACTOR_KINDS = ['token', 'certificate', 'hub', 'local'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** What is known of something at one moment. Never a secret. */
export type Facts = Readonly<Record<string, unknown>>;

export const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    id: p.uuid().primary(),
    at: p.datetime(3),
    actor: p.text(),
    /** Null in entries that are older than this column. */
    actorKind: p.enum(ACTOR_KINDS).nullable(),
    /** The service token that the actor called with, or that his certificate stands for. */
    actorTokenId: p.uuid().nullable(),
    /** Subject of the client certificate that the caller showed, as RFC 4514 writes it. */
    actorCertificate: p.text().nullable(),
    /** What was done, as `noun.verb`: `license.revoke`. */
    action: p.text(),
    /** The identifier of what it was done to. */
    subject: p.text(),
    /** What the change was made of; null if there was nothing before. */
    before: p.json<Facts>().nullable(),
    /** What it made of that; null if nothing is left. */
    after: p.json<Facts>().nullable(),
    /** What else a reader needs to understand the change. */
    detail: p.json<Facts>(),
    requestId: p.text().nullable(),
  },
  indexes: [
    { name: 'audit_entry_subject_idx', properties: ['subject', 'id'] },
    { name: 'audit_entry_actor_idx', properties: ['actor', 'id'] },
    {
      name: 'audit_entry_actor_token_idx',
      properties: ['actorTokenId', 'id'],
      where: 'actor_token_id is not null',
    },
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
    /** From 1, without gaps. Unique, because links are made under a lock. */
    seq: p.bigint(),
    linkedAt: p.datetime(3),
    /** Of the entry and the link before it: see audit-chain.ts. */
    hash: p.blob(),
  },
  indexes: [{ name: 'audit_link_seq_idx', properties: ['seq'] }],
});

/** Links that were pruned, from the first to the last, of which the next one needs the hash. */
const AuditAnchorSchema = defineEntity({
  name: 'AuditAnchor',
  tableName: 'audit_anchor',
  properties: {
    seq: p.bigint().primary().autoincrement(false),
    firstSeq: p.bigint(),
    hash: p.blob(),
    prunedAt: p.datetime(3),
    /** With the key of the chain: see audit-anchor.ts. */
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
    /** With the key of the chain: see audit-head.ts. */
    mac: p.blob(),
    /** Of that key. */
    keyId: p.uuid(),
  },
});

/** The entries that have no link yet; a trigger notes them. */
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
    /** The key of the chain and where the chain begins, sealed for `audit_key:<id>`: see audit-key.ts. */
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
