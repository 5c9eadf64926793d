// The audit log: one row for each change, in the transaction that makes it.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, Pool, QueryConfig } from 'pg';
import { newUuid, parseId, type Uuid } from '../ids.ts';
import { AuditEntrySchema, type Facts } from './audit-entities.ts';
import type { Actor } from './caller.ts';

/** The hub itself. */
export const HUB: Actor = { kind: 'hub', name: 'hub', requestId: '' };

export type Change = {
  /** `noun.verb`: `license.revoke`. */
  readonly action: string;
  /** The identifier of what was changed. */
  readonly subject: string;
  /** What the change was made of, as far as it was changed; null if there was nothing before. Never a secret. */
  readonly before: Facts | null;
  /** What it made of that; null if nothing is left. Never a secret. */
  readonly after: Facts | null;
  /** What else a reader needs to understand the change; never a secret. */
  readonly detail?: Facts;
};

/** Adds a row to the unit of work, so that the change and its record are committed together or not at all. */
export function recordChange(em: EntityManager, actor: Actor, at: Date, change: Change): void {
  em.create(AuditEntrySchema, {
    id: newUuid(),
    at,
    actor: actor.name,
    actorKind: actor.kind,
    actorTokenId: tokenUuid(actor),
    actorCertificate: actor.certificateSubject ?? null,
    action: change.action,
    subject: change.subject,
    before: change.before,
    after: change.after,
    detail: change.detail ?? {},
    requestId: actor.requestId,
  });
}

/** The same for prepared SQL, in whatever transaction `db` is in. */
export async function recordChangeNow(
  db: Pool | ClientBase,
  actor: Actor,
  at: Date,
  change: Change,
): Promise<void> {
  await db.query(recordChanges(actor, at, [change]));
}

/** The statement that does so for changes made together. */
export function recordChanges(actor: Actor, at: Date, changes: readonly Change[]): QueryConfig {
  const json = (facts: Facts | null): string | null => facts && JSON.stringify(facts);
  return {
    name: 'record_changes',
    text: `insert into audit_entry (id, at, actor, request_id, actor_kind, actor_token_id, actor_certificate,
                                    action, subject, before, after, detail)
           select id, $1, $2, $3, $4, $5::uuid, $6, action, subject, before, after, detail
           from unnest($7::uuid[], $8::text[], $9::text[], $10::jsonb[], $11::jsonb[], $12::jsonb[])
             as t (id, action, subject, before, after, detail)`,
    values: [
      at,
      actor.name,
      actor.requestId,
      actor.kind,
      tokenUuid(actor),
      actor.certificateSubject ?? null,
      changes.map(() => newUuid()),
      changes.map(({ action }) => action),
      changes.map(({ subject }) => subject),
      changes.map(({ before }) => json(before)),
      changes.map(({ after }) => json(after)),
      changes.map(({ detail = {} }) => json(detail)),
    ],
  };
}

function tokenUuid({ tokenId }: Actor): Uuid | null {
  return (tokenId !== undefined && parseId('tok', tokenId)) || null;
}
