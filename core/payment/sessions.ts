// Reading charge sessions, alone and with their whole story.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { laterInList, latestFirst, type Page, type PageRequest, readPage } from '../storage/page.ts';
import { readStatusChanges, type StatusChange, type TracedCallback, traceCallbacks } from './audit-trail.ts';
import {
  CallbackSchema,
  type ChargeSession,
  ChargeSessionSchema,
  type ChargeStatusName,
  type FeeLine,
  FeeLineSchema,
  type UsageLog,
  UsageLogSchema,
  type Verification,
  VerificationSchema,
} from './entities.ts';
import { findSlot } from './slots.ts';

export type SessionFilter = {
  readonly slot: string | undefined;
  readonly status: ChargeStatusName | undefined;
  readonly orderReference: string | undefined;
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
};

/** Everything that is known about a session, oldest first. */
export type SessionStory = {
  readonly session: ChargeSession;
  readonly statusChanges: readonly StatusChange[];
  readonly callbacks: readonly TracedCallback[];
  readonly verifications: readonly Verification[];
  readonly usageLog: UsageLog | undefined;
  readonly fees: readonly FeeLine[];
};

export function createSessions(db: Database) {
  return {
    /** @throws HubError `session_unknown` */
    get(sessionId: string): Promise<ChargeSession> {
      return findSession(db.em(), sessionId);
    },

    /** The newest first; of a span of time, by charge_session_created_idx. @throws HubError `slot_unknown`, `page_token_invalid` */
    async list(filter: SessionFilter, request: PageRequest): Promise<Page<ChargeSession>> {
      const em = db.em();
      const conditions: FilterQuery<ChargeSession>[] = [];
      if (filter.slot !== undefined) {
        conditions.push({ slot: await findSlot(em, filter.slot) });
      }
      if (filter.status !== undefined) conditions.push({ status: filter.status });
      if (filter.orderReference !== undefined) conditions.push({ orderReference: filter.orderReference });
      if (filter.createdFrom !== undefined) conditions.push({ createdAt: { $gte: filter.createdFrom } });
      if (filter.createdTo !== undefined) conditions.push({ createdAt: { $lt: filter.createdTo } });
      const isSpan = filter.createdFrom !== undefined || filter.createdTo !== undefined;
      return readPage(request, 'chs', async (after, limit) => {
        if (after) {
          conditions.push(
            isSpan ? await laterInList(em, ChargeSessionSchema, 'createdAt', after) : { id: { $lt: after } },
          );
        }
        const orderBy = isSpan ? latestFirst('createdAt') : ({ id: 'desc' } as const);
        return em.find(ChargeSessionSchema, { $and: conditions }, { orderBy, limit, populate: ['slot'] });
      });
    },

    /** @throws HubError `session_unknown` */
    async story(sessionId: string): Promise<SessionStory> {
      const em = db.em();
      const session = await findSession(em, sessionId);
      const oldestFirst = { orderBy: { id: 'asc' } } as const;
      const statusChanges = await readStatusChanges(db.pool, session.id);
      const callbacks = await traceCallbacks(
        db.pool,
        await em.find(CallbackSchema, { session }, oldestFirst),
      );
      const verifications = await em.find(VerificationSchema, { session }, oldestFirst);
      const usageLog = await em.findOne(UsageLogSchema, { id: session.id }, { populate: ['slot'] });
      const fees = usageLog
        ? await em.find(FeeLineSchema, { usageLogId: usageLog.id }, { orderBy: { rule: 'asc' } })
        : [];
      return { session, statusChanges, callbacks, verifications, usageLog: usageLog ?? undefined, fees };
    },
  };
}

/** @throws HubError `session_unknown` */
export async function findSession(em: EntityManager, sessionId: string): Promise<ChargeSession> {
  const id = parseId('chs', sessionId);
  const session = id ? await em.findOne(ChargeSessionSchema, { id }, { populate: ['slot'] }) : null;
  if (session !== null) return session;
  throw new HubError('session_unknown', 'there is no charge session with this id', { field: 'sessionId' });
}
