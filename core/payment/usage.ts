// Reading the usage log: what was paid, and what it cost.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import type { Database } from '../storage/database.ts';
import { laterInList, latestFirst, type Page, type PageRequest, readPage } from '../storage/page.ts';
import { type FeeLine, FeeLineSchema, type UsageLog, UsageLogSchema } from './entities.ts';
import { findSlot } from './slots.ts';

export type UsageLogWithFees = { readonly usageLog: UsageLog; readonly fees: readonly FeeLine[] };

export type UsageFilter = {
  /** Name of the slot. */
  readonly slot: string | undefined;
  /** Settled from then on, */
  readonly settledFrom: Date | undefined;
  /** and before then. */
  readonly settledTo: Date | undefined;
};

export function createUsage(db: Database) {
  return {
    /** The latest settled first (usage_log_settled_idx, usage_log_slot_idx). @throws HubError `slot_unknown`, `page_token_invalid` */
    async list(filter: UsageFilter, request: PageRequest): Promise<Page<UsageLogWithFees>> {
      const em = db.em();
      const conditions: FilterQuery<UsageLog>[] = [];
      if (filter.slot !== undefined) conditions.push({ slot: await findSlot(em, filter.slot) });
      if (filter.settledFrom) conditions.push({ settledAt: { $gte: filter.settledFrom } });
      if (filter.settledTo) conditions.push({ settledAt: { $lt: filter.settledTo } });
      const page = await readPage(request, 'use', async (after, limit) => {
        if (after) conditions.push(await laterInList(em, UsageLogSchema, 'settledAt', after));
        return em.find(
          UsageLogSchema,
          { $and: conditions },
          { orderBy: latestFirst('settledAt'), limit, populate: ['slot'] },
        );
      });
      const fees = await feesOf(em, page.items);
      return {
        ...page,
        items: page.items.map((usageLog) => ({ usageLog, fees: fees.get(usageLog.id) ?? [] })),
      };
    },
  };
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
