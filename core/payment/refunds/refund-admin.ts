// Reads and lists refunds for operators, and marks those that need review as reviewed.
import { type FilterQuery, LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import { type Refund, RefundSchema, type RefundStateName } from '../entities.ts';
import { findSession } from '../sessions/list-sessions.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { findSlot } from '../slots/slot-admin.ts';

export type RefundFilter = {
  readonly sessionId: string | undefined;
  /** The name of a slot. */
  readonly slot: string | undefined;
  readonly state: RefundStateName | undefined;
  readonly needsReview: boolean;
};

export function createRefunds({ db, clock }: Pick<AdminDependencies, 'db' | 'clock'>) {
  return {
    /** @throws HubError `refund_unknown` */
    async get(refundId: string): Promise<Refund> {
      const id = parseId('rfd', refundId);
      const refund = id && (await db.em().findOne(RefundSchema, { id }, { populate: ['slot'] }));
      return refund || refundUnknown();
    },

    /**
     * Newest first (refund_pkey, refund_session_idx, refund_slot_idx, refund_state_idx, refund_review_idx).
     * @throws HubError `session_unknown`, `slot_unknown`, `page_token_invalid`
     */
    async list(filter: RefundFilter, request: PageRequest): Promise<Page<Refund>> {
      const em = db.em();
      const conditions: FilterQuery<Refund>[] = [];
      if (filter.sessionId !== undefined)
        conditions.push({ session: await findSession(em, filter.sessionId) });
      if (filter.slot !== undefined) conditions.push({ slot: await findSlot(em, filter.slot) });
      if (filter.state !== undefined) conditions.push({ state: filter.state });
      if (filter.needsReview) conditions.push({ reviewReason: { $ne: '' }, reviewedAt: null });
      return readPage(request, 'rfd', (after, limit) => {
        if (after) conditions.push({ id: { $lt: after } });
        const order = { orderBy: { id: 'desc' }, limit, populate: ['slot'] } as const;
        return em.find(RefundSchema, { $and: conditions }, order);
      });
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
      const id = parseId('rfd', refundId);
      return db.em().transactional(async (em) => {
        const refund =
          (id && (await em.findOne(RefundSchema, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE }))) ||
          refundUnknown();
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

function refundUnknown(): never {
  throw new HubError('refund_unknown', 'there is no refund with this id', { field: 'refundId' });
}
