// Lists duplicate payments for operators, and marks them as handled.
import { type FilterQuery, LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import { type DuplicatePayment, DuplicatePaymentSchema } from '../entities.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { findSlot } from '../slots/slot-admin.ts';

export type DuplicateFilter = {
  /** The name of a slot. */
  readonly slot: string | undefined;
  readonly includeResolved: boolean;
};

export function createDuplicates({ db, clock }: Pick<AdminDependencies, 'db' | 'clock'>) {
  return {
    /**
     * Newest first (duplicate_payment_open_idx, duplicate_payment_slot_idx).
     * @throws HubError `slot_unknown`, `page_token_invalid`
     */
    async list(filter: DuplicateFilter, request: PageRequest): Promise<Page<DuplicatePayment>> {
      const em = db.em();
      const conditions: FilterQuery<DuplicatePayment>[] = [];
      if (filter.slot !== undefined) conditions.push({ slot: await findSlot(em, filter.slot) });
      if (!filter.includeResolved) conditions.push({ resolvedAt: null });
      return readPage(request, 'dup', async (after, limit) => {
        if (after) conditions.push({ id: { $lt: after } });
        const order = { orderBy: { id: 'desc' }, limit, populate: ['slot'] } as const;
        return em.find(DuplicatePaymentSchema, { $and: conditions }, order);
      });
    },

    /**
     * Marks a duplicate payment as handled. A second call keeps the first resolution.
     * @throws HubError `duplicate_payment_unknown`
     */
    async resolve(
      duplicatePaymentId: string,
      resolution: string,
      actor: Actor,
    ): Promise<{ readonly duplicate: DuplicatePayment; readonly unchanged: boolean }> {
      const id = parseId('dup', duplicatePaymentId);
      return db.em().transactional(async (em) => {
        const duplicate = id
          ? await em.findOne(DuplicatePaymentSchema, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
          : null;
        if (duplicate === null) {
          throw new HubError('duplicate_payment_unknown', 'there is no duplicate payment with this id', {
            field: 'duplicatePaymentId',
          });
        }
        await em.populate(duplicate, ['slot']);
        if (duplicate.resolvedAt != null) return { duplicate, unchanged: true };
        duplicate.resolvedAt = clock();
        duplicate.resolution = resolution;
        recordChange(em, actor, duplicate.resolvedAt, {
          action: 'duplicate_payment.resolve',
          subject: duplicatePaymentId,
          before: { resolved: false },
          after: { resolved: true, resolution },
        });
        return { duplicate, unchanged: false };
      });
    },
  };
}
