// Callbacks that wait for the next verification of their session.
//
// An incoming or replayed callback verifies its session at once. A job leaves it to the sweep, which verifies
// each session once for all its waiting callbacks, in its fair order.
import { formatId } from '../../ids.ts';
import { GIVE_UP_AFTER_MS, type RetryDelay, retryDelay } from '../provider-retry-delay.ts';
import { readSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { advanceCheck } from '../verification/sweep-schedule.ts';
import { giveUpCallbacks } from './journaled-callbacks.ts';

export type WaitingCallback = {
  readonly id: string;
  readonly gateway: string;
  /** When it first waited, since the last replay. */
  readonly triedSince: Date | undefined;
  readonly validationId?: string | undefined;
  /** The provider's id of the checkout that it names. */
  readonly providerPaymentId?: string | undefined;
};

export type WaitingCallbacks = ReturnType<typeof createWaitingCallbacks>;

/** `nextInMs`: when to verify again; undefined if no callback waits. */
export type Postponed = { readonly paid: boolean; readonly nextInMs?: number };

export type Wait = { readonly reason: string; readonly inMs: number };

/**
 * Callbacks of one session that may wait. A provider repeats a callback a few times, so most of so many are
 * forged.
 */
export const MAX_WAITING_CALLBACKS = 256;

const TOO_MANY_WAIT =
  'one of too many callbacks of the session: the verification for the older ones covers it';

export function createWaitingCallbacks(options: PaymentDependencies & RetryDelay) {
  const { pool, metrics, clock, logger } = options;
  const waitedMs = ({ triedSince }: WaitingCallback): number =>
    triedSince === undefined ? 0 : clock().getTime() - triedSince.getTime();

  /**
   * Resolves with false, and does nothing, if the session is paid or its next verification is later than
   * `at`.
   */
  const deferIfDue = async (sessionId: string, ids: readonly string[], reason: string, at: Date) => {
    const { rowCount } = await pool.query({
      name: 'defer_callbacks',
      // The update locks the session, so that its next lease, check or settlement finds these callbacks.
      text: `with session as (
               update charge_session set callbacks_waited = true
               where id = $1 and status <> 'success' and next_check_at <= $4 returning id
             ), deferred as (
               update callback c
               set session_id = session.id, reason = $3, attempts = attempts + 1,
                   tried_since = coalesce(tried_since, $5)
               from session where c.id = any($2) and c.state = 'received'
             )
             select from session`,
      values: [sessionId, ids, reason, at, clock()],
    });
    return rowCount === 1;
  };

  /**
   * Defers callbacks to the session's next verification, in at most `inMs`. Resolves with false, and does
   * nothing, if the session is paid, because the sweep verifies no paid session.
   */
  const defer = async (
    sessionId: string,
    callbacks: readonly WaitingCallback[],
    { reason, inMs }: Wait,
  ): Promise<boolean> => {
    const ids = callbacks.map(({ id }) => id);
    const at = new Date(clock().getTime() + inMs);
    while (!(await deferIfDue(sessionId, ids, reason, at))) {
      if ((await readSession(pool, sessionId))?.status === 'success') return false;
      await advanceCheck(pool, sessionId, at);
    }
    const details = { sessionId: formatId('chs', sessionId), callbacks: ids.length, reason };
    logger.info(details, 'callbacks wait for the next verification of their session');
    return true;
  };

  /**
   * Finishes the waiting callbacks that are newer than `callbackId` as `ignored`, because too many wait. They
   * arrived before the verification began, so its result covers them.
   */
  const ignoreNewerThan = async (sessionId: string, callbackId: string): Promise<void> => {
    const { rows } = await pool.query<{ gateway: string }>({
      name: 'ignore_newer_callbacks',
      // callback_waiting_idx
      text: `update callback set state = 'ignored', reason = $3, finished_at = $4, attempts = attempts + 1
             where session_id = $1 and state = 'received' and id > $2 returning gateway`,
      values: [sessionId, callbackId, TOO_MANY_WAIT, clock()],
    });
    for (const { gateway } of rows) metrics.finished(gateway, 'ignored', 1);
    const details = { sessionId: formatId('chs', sessionId), callbacks: rows.length };
    logger.warn(details, 'too many callbacks of one session wait; the newest ones are ignored');
  };

  return {
    defer,
    ignoreNewerThan,

    /**
     * After a verification without an answer: gives up callbacks older than a day and defers the others to
     * the next verification, after the retry delay of the oldest.
     */
    async postpone(
      sessionId: string,
      callbacks: readonly WaitingCallback[],
      reason: string,
    ): Promise<Postponed> {
      const old = callbacks.filter((callback) => waitedMs(callback) >= GIVE_UP_AFTER_MS);
      await giveUpCallbacks(options, sessionId, old, reason);
      const others = callbacks.filter((callback) => !old.includes(callback));
      if (others.length === 0) return { paid: false };
      const nextInMs = retryDelay(Math.max(...others.map(waitedMs)), options);
      const deferred = await defer(sessionId, others, { reason, inMs: nextInMs });
      return deferred ? { paid: false, nextInMs } : { paid: true };
    },
  };
}
