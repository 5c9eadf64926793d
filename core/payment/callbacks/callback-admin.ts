// Reads the callback journal for operators.
import type { FilterQuery } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import {
  type Callback,
  CallbackSchema,
  type CallbackStateName,
  type Verification,
  VerificationSchema,
} from '../entities.ts';
import { findSession } from '../sessions/list-sessions.ts';
import { type TracedCallback, traceCallbacks } from '../settlement/status-history.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';

export type CallbackFilter = {
  readonly state: CallbackStateName | undefined;
  readonly gateway: string | undefined;
  readonly sessionId: string | undefined;
};

/** The latest verifications of a callback that are shown. */
const MAX_VERIFICATIONS = 200;

export function createCallbacks({ db, driverOf }: Pick<AdminDependencies, 'db' | 'driverOf'>) {
  const trace = async (callback: Callback): Promise<TracedCallback> => {
    const [traced] = await traceCallbacks(db.pool, [callback]);
    return traced ?? { callback, replayedAt: [], sessionStatus: undefined };
  };
  /** @throws HubError `callback_unknown` */
  const find = async (callbackId: string): Promise<Callback> => {
    const id = parseId('cb', callbackId);
    const callback = id ? await db.em().findOne(CallbackSchema, { id }) : null;
    if (callback !== null) return callback;
    throw new HubError('callback_unknown', 'there is no callback with this id', { field: 'callbackId' });
  };

  return {
    /** @throws HubError `gateway_unknown`, `session_unknown`, `page_token_invalid` */
    async list(filter: CallbackFilter, request: PageRequest): Promise<Page<TracedCallback>> {
      const em = db.em();
      const conditions: FilterQuery<Callback>[] = [];
      if (filter.sessionId !== undefined)
        conditions.push({ session: await findSession(em, filter.sessionId) });
      if (filter.state !== undefined) conditions.push({ state: filter.state });
      if (filter.gateway !== undefined) conditions.push({ gateway: driverOf(filter.gateway).gateway });
      const page = await readPage(request, 'cb', (after, limit) =>
        em.find(
          CallbackSchema,
          { $and: after ? [...conditions, { id: { $lt: after } }] : conditions },
          { orderBy: { id: 'desc' }, limit },
        ),
      );
      return { ...page, items: await traceCallbacks(db.pool, page.items) };
    },

    /** With its latest provider calls, oldest first. @throws HubError `callback_unknown` */
    async get(callbackId: string): Promise<{ callback: TracedCallback; verifications: Verification[] }> {
      const callback = await find(callbackId);
      const verifications = await db
        .em()
        .find(
          VerificationSchema,
          { callback: callback.id },
          { orderBy: { id: 'desc' }, limit: MAX_VERIFICATIONS },
        );
      return { callback: await trace(callback), verifications: verifications.toReversed() };
    },
  };
}
