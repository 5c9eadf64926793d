// Reads charge sessions for operators and internal services.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import type { ListChargeSessionsRequest } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import type { Database } from '../../storage/database.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { findPage, findSpanPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type CallbackCount, countCallbacks } from '../callbacks/count-by-state.ts';
import {
  type ChargeSession,
  ChargeSessionSchema,
  type ChargeStatusName,
  type DuplicatePayment,
  DuplicatePaymentSchema,
  type Refund,
  RefundSchema,
  type Verification,
  VerificationSchema,
} from '../entities.ts';
import { listStatusChanges, type StatusChange } from '../settlement/status-history.ts';
import { findSlot } from '../slots/slot-admin.ts';
import { readSessionUsage, type UsageLogWithFees } from '../usage/list-usage.ts';
import type { Period } from '../usage/query-sums.ts';

export type SessionFilter = Pick<ListChargeSessionsRequest, 'slot' | 'orderReference' | 'held'> & {
  readonly status: ChargeStatusName | undefined;
  readonly created: Period;
};

/**
 * A session with everything recorded about it except callbacks. Growing lists have their first page, newest
 * first.
 */
export type SessionDetails = {
  readonly session: ChargeSession;
  readonly statusChanges: Page<StatusChange>;
  readonly callbackCounts: readonly CallbackCount[];
  readonly verifications: Page<Verification>;
  readonly usageLogs: readonly UsageLogWithFees[];
  readonly duplicates: readonly DuplicatePayment[];
  /** Oldest first. */
  readonly refunds: readonly Refund[];
};

/** A session hardly ever has two. */
const MAX_OF_SESSION = 100;
const FIRST_PAGE: PageRequest = { pageSize: 0, pageToken: '' };

export function createSessions(db: Database) {
  /** verification_session_idx */
  const readVerifications = (
    em: EntityManager,
    session: ChargeSession,
    request: PageRequest,
  ): Promise<Page<Verification>> =>
    findPage({ em, entity: VerificationSchema, prefix: 'ver', where: [{ session }] }, request);

  return {
    /** @throws HubError `session_unknown` */
    get(sessionId: string): Promise<ChargeSession> {
      return findSession(db.em(), sessionId);
    },

    /**
     * Newest first. With a period by charge_session_created_idx.
     *
     * @throws HubError `slot_unknown`, `page_token_invalid`
     */
    async list(filter: SessionFilter, request: PageRequest): Promise<Page<ChargeSession>> {
      const em = db.em();
      const where: FilterQuery<ChargeSession>[] = [];
      if (filter.slot !== undefined) where.push({ slot: await findSlot(em, filter.slot) });
      if (filter.status !== undefined) where.push({ status: filter.status });
      if (filter.orderReference !== undefined) where.push({ orderReference: filter.orderReference });
      const { from, to } = filter.created;
      if (from !== undefined) where.push({ createdAt: { $gte: from } });
      if (to !== undefined) where.push({ createdAt: { $lt: to } });
      // charge_session_held_idx
      if (filter.held) where.push({ heldAt: { $ne: null } });
      const list = { em, entity: ChargeSessionSchema, prefix: 'chs', where, populate: ['slot'] } as const;
      const hasPeriod = from !== undefined || to !== undefined;
      return hasPeriod ? findSpanPage(list, 'createdAt', request) : findPage(list, request);
    },

    /** @throws HubError `session_unknown` */
    async inspect(sessionId: string): Promise<SessionDetails> {
      const em = db.em();
      const session = await findSession(em, sessionId);
      const statusChanges = await listStatusChanges(db.pool, session.id, FIRST_PAGE);
      const callbackCounts = await countCallbacks(db.pool, session.id);
      const verifications = await readVerifications(em, session, FIRST_PAGE);
      const usageLogs = await readSessionUsage(em, session.id);
      // duplicate_payment_session_idx, refund_session_idx
      const first = { orderBy: { id: 'asc' }, populate: ['slot'], limit: MAX_OF_SESSION } as const;
      const duplicates = await em.find(DuplicatePaymentSchema, { session }, first);
      const refunds = await em.find(RefundSchema, { session }, first);
      return { session, statusChanges, callbackCounts, verifications, usageLogs, duplicates, refunds };
    },

    /**
     * Provider calls about a session, newest first.
     *
     * @throws HubError `session_unknown`, `page_token_invalid`
     */
    async verifications(sessionId: string, request: PageRequest): Promise<Page<Verification>> {
      const em = db.em();
      return readVerifications(em, await findSession(em, sessionId), request);
    },

    /** Newest first. @throws HubError `session_unknown`, `page_token_invalid` */
    async statusChanges(sessionId: string, request: PageRequest): Promise<Page<StatusChange>> {
      const { id } = await findSession(db.em(), sessionId);
      return listStatusChanges(db.pool, id, request);
    },
  };
}

/** @throws HubError `session_unknown` */
export function findSession(em: EntityManager, sessionId: string): Promise<ChargeSession> {
  return findById(em, ChargeSessionSchema, 'chs', sessionId, { populate: ['slot'] });
}
