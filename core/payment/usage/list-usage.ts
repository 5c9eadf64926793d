// Reads the usage log: payments and their fees.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import type { Database } from '../../storage/database.ts';
import { findSpanPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type FeeLine, FeeLineSchema, type UsageLog, UsageLogSchema } from '../entities.ts';
import { findSlot } from '../slots/slot-admin.ts';
import type { Period } from './query-sums.ts';

export type UsageLogWithFees = {
  readonly usageLog: UsageLog;
  readonly fees: readonly FeeLine[];
  /** The time of its reversal; undefined if there is none. */
  readonly reversedAt: Date | undefined;
};

/** The name of a slot, and the period of settlement. */
export type UsageFilter = Period & { readonly slot: string | undefined };

/**
 * The latest settled first (usage_log_settled_idx, usage_log_slot_idx).
 *
 * @throws HubError `slot_unknown`, `page_token_invalid`
 */
export async function listUsage(
  db: Database,
  filter: UsageFilter,
  request: PageRequest,
): Promise<Page<UsageLogWithFees>> {
  const em = db.em();
  const where: FilterQuery<UsageLog>[] = [];
  if (filter.slot !== undefined) where.push({ slot: await findSlot(em, filter.slot) });
  if (filter.from) where.push({ settledAt: { $gte: filter.from } });
  if (filter.to) where.push({ settledAt: { $lt: filter.to } });
  const list = { em, entity: UsageLogSchema, prefix: 'use', where, populate: ['slot'] } as const;
  const page = await findSpanPage(list, 'settledAt', request);
  return { ...page, items: await completeEntries(em, page.items) };
}

/** A provider reverses a payment once or twice at most. */
const MAX_PAYMENTS_OF_SESSION = 99;

/** The entries of a session, the oldest first (usage_log_pkey, usage_log_session_idx). */
export async function readSessionUsage(em: EntityManager, sessionId: string): Promise<UsageLogWithFees[]> {
  const populate = { populate: ['slot'] } as const;
  const payment = await em.find(UsageLogSchema, { id: sessionId }, populate);
  const others = await em.find(
    UsageLogSchema,
    { session: sessionId, kind: { $ne: 'payment' } },
    { ...populate, orderBy: { id: 'asc' }, limit: MAX_PAYMENTS_OF_SESSION },
  );
  return completeEntries(em, [...payment, ...others]);
}

async function completeEntries(em: EntityManager, entries: readonly UsageLog[]): Promise<UsageLogWithFees[]> {
  const fees = await feesOf(em, entries);
  const reversals = await reversalsOf(em, entries);
  return entries.map((usageLog) => ({
    usageLog,
    fees: fees.get(usageLog.id) ?? [],
    reversedAt: reversals.get(usageLog.id),
  }));
}

/** When the entries were taken back, of those that were, in one query (usage_log_session_idx). */
async function reversalsOf(em: EntityManager, entries: readonly UsageLog[]): Promise<Map<string, Date>> {
  const sessions = [...new Set(entries.map(({ session }) => session.id))];
  const reversals = await em.find(UsageLogSchema, {
    session: { $in: sessions },
    $and: [{ kind: { $ne: 'payment' } }, { kind: 'reversal' }],
  });
  return new Map(reversals.map(({ reverses, settledAt }) => [reverses ?? '', settledAt]));
}

/** The fee lines of each usage log in one query (fee_line_pkey), by the names of their rules. */
async function feesOf(em: EntityManager, usageLogs: readonly UsageLog[]): Promise<Map<string, FeeLine[]>> {
  const lines = await em.find(
    FeeLineSchema,
    { usageLogId: { $in: usageLogs.map(({ id }) => id) } },
    { orderBy: { rule: 'asc' } },
  );
  return Map.groupBy(lines, (line) => line.usageLogId);
}
