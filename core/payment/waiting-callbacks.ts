// Callbacks that wait for the next question about their session, all of them for the same one.
//
// Only whoever brings a callback asks at once, and the sweep asks for all that wait: a job never does. So what waits
// is one question for each session, in the fair order of the sweep, however many callbacks there are.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { checkBy } from './check-soon.ts';
import { finishCallbacks, type JournaledCallback } from './journal.ts';
import type { PaymentMeter } from './payment-meter.ts';
import { readClaim } from './read-claim.ts';
import { readSession } from './session-facts.ts';

export type WaitingCallback = {
  readonly id: string;
  readonly gateway: string;
  /** When it was first left waiting, or has been since its replay; undefined before. */
  readonly triedSince: Date | undefined;
  /** The validation id that it brought. */
  readonly validationId?: string | undefined;
  /** The provider's id of the checkout that it named. */
  readonly providerPaymentId?: string | undefined;
};

export type WaitingCallbacks = {
  /**
   * The callbacks that wait for an answer about the session which is about to be asked for, the oldest first and
   * `MOST_WAITING` at most: the same answer is as good for those beyond, which are dealt with by that.
   */
  of(sessionId: string): Promise<WaitingCallback[]>;
  /**
   * Leaves callbacks to the session's next question, in at most `inMs`. Resolves with false, and does nothing, if the
   * session is paid: there will be no other question then.
   */
  leave(sessionId: string, callbacks: readonly WaitingCallback[], wait: Wait): Promise<boolean>;
  /**
   * After a question in vain: gives those up that were tried for long enough, leaves the others to a later one, in as
   * many milliseconds as the oldest has waited, so that the pauses double.
   */
  putOff(sessionId: string, callbacks: readonly WaitingCallback[], reason: string): Promise<PutOff>;
};

/** `nextInMs`: when to ask again; undefined if nobody waits any more. */
export type PutOff = { readonly paid: boolean; readonly nextInMs?: number };

export type Wait = { readonly reason: string; readonly inMs: number };

export type WaitingOptions = {
  readonly pool: Pool;
  readonly meter: Pick<PaymentMeter, 'finished'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** After so long a callback is given up. */
  readonly giveUpAfterMs: number;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
};

/** A provider repeats a callback a few times; more than these are forged, and there can be any number of them. */
export const MOST_WAITING = 256;

const JOINED = 'one of very many callbacks of the session: what the provider says to the older ones counts';

export function createWaitingCallbacks(options: WaitingOptions): WaitingCallbacks {
  const { pool, meter, clock, logger, giveUpAfterMs, retryDelayMs, retryDelayMaxMs } = options;
  const waitedMs = ({ triedSince }: WaitingCallback): number =>
    triedSince === undefined ? 0 : clock().getTime() - triedSince.getTime();

  const pauseMs = (callbacks: readonly WaitingCallback[]): number => {
    const longestMs = callbacks.reduce((ms, callback) => Math.max(ms, waitedMs(callback)), 0);
    return Math.min(Math.max(longestMs, retryDelayMs), retryDelayMaxMs);
  };

  /** Resolves with false, and does nothing, if the session is paid or is not asked about until `at`. */
  const leaveIfDue = async (sessionId: string, ids: readonly string[], reason: string, at: Date) => {
    const { rowCount } = await pool.query({
      name: 'leave_callbacks',
      // Under a lock on the session: whoever claims, reschedules or settles it next finds these callbacks.
      text: `with session as (
               select id from charge_session where id = $1 and status <> 'success' and next_check_at <= $4 for share
             ), left_waiting as (
               update callback c
               set session_id = session.id, reason = $3, attempts = attempts + 1, tried_since = coalesce(tried_since, $5)
               from session where c.id = any($2) and c.state = 'received'
             )
             select from session`,
      values: [sessionId, ids, reason, at, clock()],
    });
    return rowCount === 1;
  };

  const leave = async (
    sessionId: string,
    callbacks: readonly WaitingCallback[],
    { reason, inMs }: Wait,
  ): Promise<boolean> => {
    const ids = callbacks.map(({ id }) => id);
    const at = new Date(clock().getTime() + inMs);
    while (!(await leaveIfDue(sessionId, ids, reason, at))) {
      if ((await readSession(pool, sessionId))?.status === 'success') return false;
      await checkBy(pool, sessionId, at);
    }
    const about = { sessionId: formatId('chs', sessionId), callbacks: ids.length, reason };
    logger.info(about, 'callbacks wait for the next question about their session');
    return true;
  };

  /** They came before the question, so its answer is about them too, or that to the question which the older ones wait for. */
  const joinAfter = async (sessionId: string, callbackId: string): Promise<void> => {
    const { rows } = await pool.query<{ gateway: string }>({
      name: 'join_callbacks',
      // callback_waiting_idx
      text: `update callback set state = 'ignored', reason = $3, finished_at = $4, attempts = attempts + 1
             where session_id = $1 and state = 'received' and id > $2 returning gateway`,
      values: [sessionId, callbackId, JOINED, clock()],
    });
    for (const { gateway } of rows) meter.finished(gateway, 'ignored', 1);
    const about = { sessionId: formatId('chs', sessionId), callbacks: rows.length };
    logger.warn(about, 'too many callbacks of one session wait: the later ones are not kept waiting');
  };

  /** One more than are told of, so that it shows if there are too many. */
  const readWaiting = createBatcher<string, Waiting[]>({
    maxSize: 64,
    maxInFlight: 2,
    run: async (sessionIds) => {
      const { rows } = await pool.query<Waiting & { sessionId: string }>({
        name: 'waiting_callbacks',
        // callback_waiting_idx, once for each session
        text: `select t.session_id as "sessionId", w.*
               from unnest($1::uuid[]) as t (session_id) cross join lateral (
                 select id, gateway, fields, (extract(epoch from tried_since) * 1000)::float8 as "triedSinceMs"
                 from callback where session_id = t.session_id and state = 'received' order by id limit $2
               ) w`,
        values: [[...new Set(sessionIds)], MOST_WAITING + 1],
      });
      return sessionIds.map((id) => rows.filter(({ sessionId }) => sessionId === id));
    },
  });

  return {
    async of(sessionId) {
      const rows = await readWaiting(sessionId);
      const kept = rows.slice(0, MOST_WAITING);
      const last = rows.length > MOST_WAITING ? kept.at(-1) : undefined;
      if (last !== undefined) await joinAfter(sessionId, last.id);
      return kept.map(({ id, gateway, fields, triedSinceMs }) => {
        const claim = readClaim({ gateway, fields });
        return {
          id,
          gateway,
          triedSince: triedSinceMs === null ? undefined : new Date(triedSinceMs),
          // All of them would have to agree on it.
          validationId: last === undefined ? claim?.validationId : undefined,
          providerPaymentId: claim?.providerPaymentId,
        };
      });
    },

    leave,

    async putOff(sessionId, callbacks, reason) {
      const old = callbacks.filter((callback) => waitedMs(callback) >= giveUpAfterMs);
      if (old.length > 0) {
        const ids = old.map(({ id }) => id);
        await finishCallbacks(
          pool,
          ids,
          { state: 'dead', reason: `given up: ${reason}`, sessionId },
          clock(),
        );
        for (const { gateway } of old) meter.finished(gateway, 'dead', 1);
      }
      const others = callbacks.filter((callback) => !old.includes(callback));
      if (others.length === 0) return { paid: false };
      const nextInMs = pauseMs(others);
      const left = await leave(sessionId, others, { reason, inMs: nextInMs });
      return left ? { paid: false, nextInMs } : { paid: true };
    },
  };
}

type Waiting = Pick<JournaledCallback, 'id' | 'gateway' | 'fields'> & {
  readonly triedSinceMs: number | null;
};

/** The validation id that all callbacks agree on. Of several some are forged: then the hub's own question is better. */
export function commonValidationId(callbacks: readonly WaitingCallback[]): string | undefined {
  const ids = new Set(callbacks.flatMap(({ validationId }) => validationId ?? []));
  return ids.size === 1 ? [...ids][0] : undefined;
}
