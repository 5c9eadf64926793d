// Lists duplicate payments for operators, and marks them as handled.
import { type FilterQuery, LockMode } from '@mikro-orm/postgresql';
import type { ListDuplicatePaymentsRequest } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type DuplicatePayment, DuplicatePaymentSchema } from '../entities.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { findSlot } from '../slots/slot-admin.ts';

export type DuplicateFilter = Pick<ListDuplicatePaymentsRequest, 'slot' | 'includeResolved'>;

export function createDuplicates({ db, clock }: Pick<AdminDependencies, 'db' | 'clock'>) {
  return {
    /**
     * Newest first (duplicate_payment_open_idx, duplicate_payment_slot_idx).
     * @throws HubError `slot_unknown`, `page_token_invalid`
     */
    async list(filter: DuplicateFilter, request: PageRequest): Promise<Page<DuplicatePayment>> {
      const em = db.em();
      const where: FilterQuery<DuplicatePayment>[] = [];
      if (filter.slot !== undefined) where.push({ slot: await findSlot(em, filter.slot) });
      if (!filter.includeResolved) where.push({ resolvedAt: null });
      const list = { em, entity: DuplicatePaymentSchema, prefix: 'dup', where, populate: ['slot'] } as const;
      return findPage(list, request);
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
      return db.em().transactional(async (em) => {
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        const duplicate = await findById(em, DuplicatePaymentSchema, 'dup', duplicatePaymentId, { lockMode });
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
