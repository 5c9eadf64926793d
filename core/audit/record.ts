// Records changes in the audit log: one row per change, in the transaction of the change.
import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, Pool, QueryConfig } from 'pg';
import type { Actor } from '../access/caller.ts';
import { newUuid, parseId, type Uuid } from '../ids.ts';
import { columns } from '../storage/sql/transaction.ts';
import { AuditEntrySchema, type Facts } from './entities.ts';

/** The actor of changes that the hub makes itself. */
export const HUB: Actor = { kind: 'hub', name: 'hub', requestId: '' };

export type Change = {
  /** `noun.verb`, such as `license.revoke`. */
  readonly action: string;
  /** Id of the changed resource. */
  readonly subject: string;
  /** The changed values before the change; null if the resource is new. Never a secret. */
  readonly before: Facts | null;
  /** The changed values after the change; null if the resource was removed. Never a secret. */
  readonly after: Facts | null;
  /** Further context; never a secret. */
  readonly detail?: Facts;
};

/** The members that differ, before and after a change. Undefined if all are equal. */
export function changedMembers(before: Facts, after: Facts): { before: Facts; after: Facts } | undefined {
  const names = Object.keys(before).filter((name) => !isDeepStrictEqual(before[name], after[name]));
  if (names.length === 0) return undefined;
  const pick = (facts: Facts) => Object.fromEntries(names.map((name) => [name, facts[name]]));
  return { before: pick(before), after: pick(after) };
}

/** Adds a row to the ORM's unit of work, so that the change and its record are committed together. */
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

/**
 * The same for SQL, in the current transaction of `db`. Take `at` shortly before the commit: the audit log
 * does not verify if an entry is much older than the entry before it.
 */
export async function recordChangeNow(
  db: Pool | ClientBase,
  actor: Actor,
  at: Date,
  change: Change,
): Promise<void> {
  await db.query(recordChanges(actor, at, [change]));
}

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
      ...columns(changes, 'action', 'subject'),
      changes.map(({ before }) => json(before)),
      changes.map(({ after }) => json(after)),
      changes.map(({ detail = {} }) => json(detail)),
    ],
  };
}

function tokenUuid({ tokenId }: Actor): Uuid | null {
  return (tokenId !== undefined && parseId('tok', tokenId)) || null;
}
