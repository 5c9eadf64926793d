// The audit log: one row for each change an operator makes, in the transaction that makes it.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { PoolClient } from 'pg';
import { newUuid } from '../ids.ts';
import type { Actor } from './caller.ts';
import { AuditEntrySchema } from './entities.ts';

export type Change = {
  /** `noun.verb`: `license.revoke`. */
  readonly action: string;
  /** The identifier of what was changed. */
  readonly subject: string;
  /** What a reader needs to understand the change; never a secret. */
  readonly detail?: Record<string, unknown>;
};

/** Adds a row to the unit of work, so that the change and its record are committed together or not at all. */
export function recordChange(em: EntityManager, actor: Actor, at: Date, change: Change): void {
  em.create(AuditEntrySchema, {
    id: newUuid(),
    at,
    actor: actor.name,
    action: change.action,
    subject: change.subject,
    detail: change.detail ?? {},
    requestId: actor.requestId,
  });
}

/** The same for a transaction of prepared SQL. */
export async function recordChangeNow(
  client: PoolClient,
  actor: Actor,
  at: Date,
  change: Change,
): Promise<void> {
  await client.query({
    name: 'record_change',
    text: `insert into audit_entry (id, at, actor, action, subject, detail, request_id)
           values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [newUuid(), at, actor.name, change.action, change.subject, change.detail ?? {}, actor.requestId],
  });
}
