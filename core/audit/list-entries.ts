// Lists the entries of the audit log.
import type { FilterQuery } from '@mikro-orm/postgresql';
import type { ListAuditEntriesRequest } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { findPage, findSpanPage, type Page, type PageRequest } from '../storage/sql/page.ts';
import { type ActorKind, type AuditEntry, AuditEntrySchema } from './entities.ts';

export type AuditFilter = Pick<ListAuditEntriesRequest, 'subject' | 'actor' | 'actorTokenId' | 'action'> & {
  readonly actorKind: ActorKind | undefined;
  /** Inclusive. */
  readonly since: Date | undefined;
  /** Exclusive. */
  readonly until: Date | undefined;
};

const NO_TOKEN = '00000000-0000-0000-0000-000000000000';

/** Newest first; with `since` or `until`, uses audit_entry_at_idx. @throws HubError `page_token_invalid` */
export function listEntries(
  db: Database,
  { subject, actor, actorTokenId, actorKind, action, since, until }: AuditFilter,
  request: PageRequest,
): Promise<Page<AuditEntry>> {
  const where: FilterQuery<AuditEntry>[] = [];
  if (subject !== undefined) where.push({ subject });
  if (actor !== undefined) where.push({ actor });
  // An invalid token id matches no entry.
  if (actorTokenId !== undefined) where.push({ actorTokenId: parseId('tok', actorTokenId) ?? NO_TOKEN });
  if (actorKind !== undefined) where.push({ actorKind });
  if (action !== undefined) where.push({ action });
  if (since) where.push({ at: { $gte: since } });
  if (until) where.push({ at: { $lt: until } });
  const list = { em: db.em(), entity: AuditEntrySchema, prefix: 'aud', where } as const;
  return since || until ? findSpanPage(list, 'at', request) : findPage(list, request);
}
