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
import { type TracedCallback, traceCallbacks } from './audit-trail.ts';
import {
  type Callback,
  CallbackSchema,
  type CallbackStateName,
  type Verification,
  VerificationSchema,
} from './entities.ts';
import type { Jobs } from './jobs.ts';
import type { ProcessCallback } from './process-callback.ts';
import type { PaymentDriver } from './provider.ts';
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
  readonly driverOf: (gateway: string) => PaymentDriver;
  readonly clock: Clock;
};

/** Of those about one callback. An hour passes between two attempts on a callback that waits; replays come besides. */
const MOST_VERIFICATIONS = 200;

export function createCallbacks({ db, jobs, process, clock, driverOf }: CallbacksOptions) {
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

    /** With what the provider was asked on its behalf, the latest of it, oldest first. @throws HubError `callback_unknown` */
    async get(callbackId: string): Promise<{ callback: TracedCallback; verifications: Verification[] }> {
      const callback = await find(callbackId);
      const verifications = await db
        .em()
        .find(
          VerificationSchema,
          { callback: callback.id },
          { orderBy: { id: 'desc' }, limit: MOST_VERIFICATIONS },
        );
      return { callback: await trace(callback), verifications: verifications.toReversed() };
    },

    /** Deals with a callback again, from the start. @throws HubError `callback_unknown` */
    async replay(callbackId: string, actor: Actor): Promise<TracedCallback> {
      const { id, state } = await find(callbackId);
      await inTransaction(db.pool, async (client) => {
        await recordChangeNow(client, actor, clock(), {
          action: 'callback.replay',
          subject: callbackId,
          before: { state },
          after: { state: state === 'settled' ? state : 'received' },
        });
        // What is settled stays so, and is only looked at again.
        if (state === 'settled') return;
        await client.query(
          `update callback set state = 'received', finished_at = null, tried_since = null where id = $1 and state = $2`,
          [id, state],
        );
        // Like one that has just come, it has a job, should this hub not get to the end of it.
        await jobs.requeue(client, id);
      });
      await process.byId(id, 'replay');
      return trace(await find(callbackId));
    },
  };
}
