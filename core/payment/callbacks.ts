// Administration of the callback journal: look and replay.
import type { FilterQuery } from '@mikro-orm/postgresql';
import { recordChange } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/page.ts';
import {
  type Callback,
  CallbackSchema,
  type CallbackStateName,
  type Verification,
  VerificationSchema,
} from './entities.ts';
import type { Jobs } from './jobs.ts';
import { type ProcessCallback, TryAgainLater } from './process-callback.ts';
import { findSession } from './sessions.ts';

export type CallbackFilter = {
  readonly state: CallbackStateName | undefined;
  readonly gateway: string | undefined;
  readonly sessionId: string | undefined;
};

export type CallbacksOptions = {
  readonly db: Database;
  readonly jobs: Jobs;
  readonly process: ProcessCallback;
  readonly clock: Clock;
};

export function createCallbacks({ db, jobs, process, clock }: CallbacksOptions) {
  /** @throws HubError `callback_unknown` */
  const find = async (callbackId: string): Promise<Callback> => {
    const id = parseId('cb', callbackId);
    const callback = id ? await db.em().findOne(CallbackSchema, { id }) : null;
    if (callback !== null) return callback;
    throw new HubError('callback_unknown', 'there is no callback with this id', { field: 'callbackId' });
  };

  return {
    /** @throws HubError `session_unknown`, `page_token_invalid` */
    async list(filter: CallbackFilter, request: PageRequest): Promise<Page<Callback>> {
      const em = db.em();
      const conditions: FilterQuery<Callback>[] = [];
      if (filter.sessionId !== undefined)
        conditions.push({ session: await findSession(em, filter.sessionId) });
      if (filter.state !== undefined) conditions.push({ state: filter.state });
      if (filter.gateway !== undefined) conditions.push({ gateway: filter.gateway });
      return readPage(request, 'cb', (after, limit) =>
        em.find(
          CallbackSchema,
          { $and: after ? [...conditions, { id: { $lt: after } }] : conditions },
          { orderBy: { id: 'desc' }, limit },
        ),
      );
    },

    /** With what the provider was asked on its behalf. @throws HubError `callback_unknown` */
    async get(callbackId: string): Promise<{ callback: Callback; verifications: Verification[] }> {
      const callback = await find(callbackId);
      const verifications = await db
        .em()
        .find(VerificationSchema, { callback: callback.id }, { orderBy: { id: 'asc' } });
      return { callback, verifications };
    },

    /** Deals with a callback again, from the start. @throws HubError `callback_unknown` */
    async replay(callbackId: string, actor: Actor): Promise<Callback> {
      const { id, state } = await find(callbackId);
      await db.em().transactional(async (em) => {
        recordChange(em, actor, clock(), {
          action: 'callback.replay',
          subject: callbackId,
          detail: { state },
        });
        // What was given up is received once more; what is settled stays so, and is only looked at again.
        if (state !== 'settled') {
          await em.nativeUpdate(CallbackSchema, { id, state }, { state: 'received', finishedAt: null });
        }
      });
      try {
        await process(id, 'replay');
      } catch (error) {
        if (!(error instanceof TryAgainLater)) throw error;
        await jobs.requeue(id);
      }
      return find(callbackId);
    },
  };
}
