// Lists the entries of the audit log.
import type { FilterQuery } from '@mikro-orm/postgresql';
import type { ListAuditEntriesRequest } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import {
  laterInList,
  latestFirst,
  type Page,
  type PageRequest,
  readPage,
  readSpanPage,
} from '../storage/sql/page.ts';
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
  const em = db.em();
  const conditions: FilterQuery<AuditEntry>[] = [];
  if (subject !== undefined) conditions.push({ subject });
  if (actor !== undefined) conditions.push({ actor });
  // An invalid token id matches no entry.
  if (actorTokenId !== undefined) conditions.push({ actorTokenId: parseId('tok', actorTokenId) ?? NO_TOKEN });
  if (actorKind !== undefined) conditions.push({ actorKind });
  if (action !== undefined) conditions.push({ action });
  if (since) conditions.push({ at: { $gte: since } });
  if (until) conditions.push({ at: { $lt: until } });
  if (since === undefined && until === undefined) {
    return readPage(request, 'aud', (after, limit) => {
      if (after) conditions.push({ id: { $lt: after } });
      return em.find(AuditEntrySchema, { $and: conditions }, { orderBy: { id: 'desc' }, limit });
    });
  }
  return readSpanPage(request, 'aud', 'at', (after, limit) => {
    if (after) conditions.push(laterInList('at', after));
    return em.find(AuditEntrySchema, { $and: conditions }, { orderBy: latestFirst('at'), limit });
  });
}
