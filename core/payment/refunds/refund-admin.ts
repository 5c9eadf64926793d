// Reads and lists refunds for operators, and marks those that need review as reviewed.
import { type FilterQuery, LockMode } from '@mikro-orm/postgresql';
import type { ListRefundsRequest } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type Refund, RefundSchema, type RefundStateName } from '../entities.ts';
import { findSession } from '../sessions/list-sessions.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { findSlot } from '../slots/slot-admin.ts';

export type RefundFilter = Pick<ListRefundsRequest, 'sessionId' | 'slot' | 'needsReview'> & {
  readonly state: RefundStateName | undefined;
};

export function createRefunds({ db, clock }: Pick<AdminDependencies, 'db' | 'clock'>) {
  return {
    /** @throws HubError `refund_unknown` */
    get(refundId: string): Promise<Refund> {
      return findById(db.em(), RefundSchema, 'rfd', refundId, { populate: ['slot'] });
    },

    /**
     * Newest first (refund_pkey, refund_session_idx, refund_slot_idx, refund_state_idx, refund_review_idx).
     * @throws HubError `session_unknown`, `slot_unknown`, `page_token_invalid`
     */
    async list(filter: RefundFilter, request: PageRequest): Promise<Page<Refund>> {
      const em = db.em();
      const where: FilterQuery<Refund>[] = [];
      if (filter.sessionId !== undefined) where.push({ session: await findSession(em, filter.sessionId) });
      if (filter.slot !== undefined) where.push({ slot: await findSlot(em, filter.slot) });
      if (filter.state !== undefined) where.push({ state: filter.state });
      if (filter.needsReview) where.push({ reviewReason: { $ne: '' }, reviewedAt: null });
      return findPage({ em, entity: RefundSchema, prefix: 'rfd', where, populate: ['slot'] }, request);
    },

    /**
     * Marks a refund as reviewed. A second call keeps the first resolution.
     * @throws HubError `refund_unknown`, `refund_not_in_review`
     */
    async resolve(
      refundId: string,
      resolution: string,
      actor: Actor,
    ): Promise<{ readonly refund: Refund; readonly unchanged: boolean }> {
      return db.em().transactional(async (em) => {
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        const refund = await findById(em, RefundSchema, 'rfd', refundId, { lockMode });
        await em.populate(refund, ['slot']);
        if (refund.reviewReason === '') {
          throw new HubError('refund_not_in_review', 'this refund needs no review', { field: 'refundId' });
        }
        if (refund.reviewedAt != null) return { refund, unchanged: true };
        refund.reviewedAt = clock();
        refund.resolution = resolution;
        recordChange(em, actor, refund.reviewedAt, {
          action: 'refund.resolve',
          subject: refundId,
          before: { reviewed: false },
          after: { reviewed: true, resolution },
          detail: { review: refund.reviewReason },
        });
        return { refund, unchanged: false };
      });
    },
  };
}
