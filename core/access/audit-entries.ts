// Reading the audit log: page by page as it was written, or along its chain.
import type { FilterQuery } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Database } from '../storage/database.ts';
import { laterInList, latestFirst, type Page, type PageRequest, readPage } from '../storage/page.ts';
import { type ChainedEntry, type ChainHead, readHash, readLinks } from './audit-chain.ts';
import { type AuditEntry, AuditEntrySchema } from './audit-entities.ts';

export type AuditFilter = {
  readonly subject: string | undefined;
  readonly actor: string | undefined;
  readonly action: string | undefined;
  /** From then on, */
  readonly since: Date | undefined;
  /** and before then. */
  readonly until: Date | undefined;
};

/** Newest first; of a span of time, by audit_entry_at_idx. @throws HubError `page_token_invalid` */
export function listEntries(
  db: Database,
  { subject, actor, action, since, until }: AuditFilter,
  request: PageRequest,
): Promise<Page<AuditEntry>> {
  const em = db.em();
  const conditions: FilterQuery<AuditEntry>[] = [];
  if (subject !== undefined) conditions.push({ subject });
  if (actor !== undefined) conditions.push({ actor });
  if (action !== undefined) conditions.push({ action });
  if (since) conditions.push({ at: { $gte: since } });
  if (until) conditions.push({ at: { $lt: until } });
  const isSpan = since !== undefined || until !== undefined;
  return readPage(request, 'aud', async (after, limit) => {
    if (after)
      conditions.push(isSpan ? await laterInList(em, AuditEntrySchema, 'at', after) : { id: { $lt: after } });
    const orderBy = isSpan ? latestFirst('at') : ({ id: 'desc' } as const);
    return em.find(AuditEntrySchema, { $and: conditions }, { orderBy, limit });
  });
}

/** A link whose row is there. */
export type LinkedEntry = ChainHead & {
  readonly linkedAt: string;
  readonly previousHash: string;
  readonly entry: ChainedEntry;
};

const BATCH = 500;

/**
 * Along the chain, oldest first, from the link after the one with number `after`; a batch at a time. What was pruned is
 * left out.
 */
export async function* exportEntries(pool: Pool, after: number): AsyncGenerator<LinkedEntry[]> {
  let previous: ChainHead = { seq: after, hash: (await readHash(pool, after)) ?? '' };
  for (;;) {
    const links = await readLinks(pool, previous.seq, BATCH);
    const entries: LinkedEntry[] = [];
    for (const { seq, hash, linkedAt, entry } of links) {
      const previousHash = seq === previous.seq + 1 ? previous.hash : ((await readHash(pool, seq - 1)) ?? '');
      if (entry !== undefined) entries.push({ seq, hash, linkedAt, previousHash, entry });
      previous = { seq, hash };
    }
    if (entries.length > 0) yield entries;
    if (links.length < BATCH) return;
  }
}
