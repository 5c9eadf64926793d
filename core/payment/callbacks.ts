// Administration of the callback journal: look and replay.
import type { FilterQuery } from '@mikro-orm/postgresql';
import { recordChangeNow } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/page.ts';
import { inTransaction } from '../storage/transaction.ts';
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
      await inTransaction(db.pool, async (client) => {
        const change = { action: 'callback.replay', subject: callbackId, detail: { state } };
        await recordChangeNow(client, actor, clock(), change);
        // What is settled stays so, and is only looked at again.
        if (state === 'settled') return;
        await client.query(
          `update callback set state = 'received', finished_at = null where id = $1 and state = $2`,
          [id, state],
        );
        // Like one that has just come, it has a job, should this hub not get to the end of it.
        await jobs.requeue(client, id);
      });
      try {
        await process(id, 'replay');
      } catch (error) {
        if (!(error instanceof TryAgainLater)) throw error; // its job will try again
      }
      return find(callbackId);
    },
  };
}
