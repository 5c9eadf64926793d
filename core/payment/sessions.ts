// Reading charge sessions, alone and with their whole story.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/page.ts';
import {
  type Callback,
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
  readonly callbacks: readonly Callback[];
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

    /** @throws HubError `slot_unknown`, `page_token_invalid` */
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
      return readPage(request, 'chs', (after, limit) =>
        em.find(
          ChargeSessionSchema,
          { $and: after ? [...conditions, { id: { $lt: after } }] : conditions },
          { orderBy: { id: 'desc' }, limit, populate: ['slot'] },
        ),
      );
    },

    /** @throws HubError `session_unknown` */
    async story(sessionId: string): Promise<SessionStory> {
      const em = db.em();
      const session = await findSession(em, sessionId);
      const oldestFirst = { orderBy: { id: 'asc' } } as const;
      const callbacks = await em.find(CallbackSchema, { session }, oldestFirst);
      const verifications = await em.find(VerificationSchema, { session }, oldestFirst);
      const usageLog = await em.findOne(UsageLogSchema, { session }, { populate: ['slot'] });
      const fees = usageLog ? await em.find(FeeLineSchema, { usageLog }, { orderBy: { rule: 'asc' } }) : [];
      return { session, callbacks, verifications, usageLog: usageLog ?? undefined, fees };
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
