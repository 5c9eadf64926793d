// Journaled callbacks: reads them, and records their failed attempts and outcomes.
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { Clock } from '../../clock.ts';
import { ASYNC_COMMIT } from '../../storage/sql/async-commit.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { Write } from '../../storage/sql/transaction.ts';
import {
  isUnknownCheckout,
  isUnknownPayment,
  NAMED_CHECKOUT,
  NAMED_PAYMENT,
  setOtherPayment,
  storeCheckouts,
} from '../duplicates/other-payments.ts';
import type { CallbackStateName } from '../entities.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { TakenVerificationLease } from '../verification/lease.ts';
import { parseJournaledClaim, type ReceivedCallback } from './claim.ts';

export type JournaledCallback = Omit<ReceivedCallback, 'claim'> & {
  readonly id: string;
  readonly state: CallbackStateName;
  /** Undefined if only an older version accepted the fields. */
  readonly claim: CallbackClaim | undefined;
  /** When an attempt first failed, since the last replay. */
  readonly triedSince: Date | undefined;
  /** Whether it waits for the next verification of its session. */
  readonly waits: boolean;
  /** The session named by `session_id`, as of the journal's commit. */
  readonly claimedSession?: StoredSession | undefined;
  /** The verification lease of that session, if the journal's commit took it. */
  readonly lease?: TakenVerificationLease | undefined;
};

/** The final state of a callback, and the reason that operators see. */
export type Outcome = {
  readonly state: Exclude<CallbackStateName, 'received'>;
  readonly reason: string;
  readonly sessionId?: string | undefined;
};

export type Finished = Outcome & { readonly id: string };

export type JournaledCallbacks = {
  read(id: string): Promise<JournaledCallback | undefined>;
  /** Records an attempt that failed because of the hub. */
  recordFailedAttempt(id: string, reason: string): Promise<void>;
  /** Records the outcome without a settlement. */
  finish(id: string, outcome: Outcome): Promise<void>;
};

/** The journal's reason for callbacks that failed because of an error of the hub. */
export const HUB_FAILED = 'the hub could not process it: see its log';

export function createJournaledCallbacks(pool: Pool, clock: Clock): JournaledCallbacks {
  const finish = createBatcher<Finished, void>({
    maxSize: 128,
    maxInFlight: 2,
    run: async (finished) => {
      await pool.query({
        name: 'finish_each',
        ...givingUp(finishing(finished, clock(), `, ${ASYNC_COMMIT}`)),
      });
      return finished.map(() => undefined);
    },
  });

  return {
    async read(id) {
      const { rows } = await pool.query({
        name: 'read_callback',
        text: `select gateway, claimed_session_id as "claimedSessionId", fields, state,
                      (extract(epoch from tried_since) * 1000)::float8 as "triedSinceMs",
                      state = 'received' and session_id is not null and tried_since is not null as waits
               from callback where id = $1`,
        values: [id],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      const { triedSinceMs, claimedSessionId, ...rest } = row;
      return {
        ...rest,
        id,
        claimedSessionId: claimedSessionId ?? undefined,
        claim: parseJournaledClaim(rest.gateway, rest.fields),
        triedSince: triedSinceMs === null ? undefined : new Date(triedSinceMs),
      };
    },

    async recordFailedAttempt(id, reason) {
      await pool.query({
        name: 'postpone_callback',
        text: `update callback set attempts = attempts + 1, reason = $2, tried_since = coalesce(tried_since,
               $3)
               where id = $1 and state = 'received'`,
        values: [id, reason, clock()],
      });
    },

    finish: (id, outcome) => finish({ id, ...outcome }),
  };
}

/**
 * The statement that records outcomes; `besides` adds items to its FROM clause. A settled callback stays
 * settled.
 */
export function finishing(finished: readonly Finished[], at: Date, besides = ''): Write {
  return {
    // callback_pkey; PostgreSQL prunes the partitions by the ids in `= any($1)`
    text: `update callback c
           set state = t.state, reason = t.reason, session_id = coalesce(t.session_id, c.session_id),
               finished_at = $5, attempts = attempts + 1
           from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as t (id, state, reason,
             session_id)${besides}
           where c.id = t.id and c.id = any($1) and c.state <> 'settled'
           returning c.id, c.session_id, c.gateway, c.state`,
    values: [
      finished.map(({ id }) => id),
      finished.map(({ state }) => state),
      finished.map(({ reason }) => reason),
      finished.map(({ sessionId }) => sessionId ?? null),
      at,
    ],
  };
}

/** The same, and records an event for each callback that is given up. */
function givingUp({ text, values = [] }: Write): Write {
  return {
    text: `with finished as (${text}), recorded as (
             insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
             select 'callback.dead', array_agg(f.id), array_agg(null::uuid), array_agg(c.slot_id), $5
             from finished f left join charge_session c on c.id = f.session_id where f.state = 'dead'
             having count(*) > 0
           )
           select gateway, state from finished`,
    values,
  };
}

/** Records one outcome for several callbacks. Returns how many changed. */
export async function finishCallbacks(
  db: Pool | PoolClient,
  ids: readonly string[],
  outcome: Outcome,
  at: Date,
): Promise<number> {
  if (ids.length === 0) return 0;
  const finished = ids.map((id) => ({ id, ...outcome }));
  const { rowCount } = await db.query({ name: 'finish_several', ...givingUp(finishing(finished, at)) });
  return rowCount ?? 0;
}

/**
 * Finishes the callbacks that wait for the verification of sessions that are now paid, because a paid session
 * is not verified again. If a callback names another payment, or a counted one may have, the sweep looks for
 * duplicate payments. Returns the gateway and the state of each callback.
 */
export function finishWaiting(sessionIds: readonly string[], reason: string, at: Date): QueryConfig {
  return {
    name: 'finish_waiting',
    // callback_waiting_idx, charge_session_pkey, callback_count_pkey
    text: `with finished as (
             update callback k set state = 'settled', reason = $2, finished_at = $3, attempts = attempts + 1
             where session_id = any($1) and state = 'received'
             returning session_id, gateway, ${NAMED_PAYMENT} as payment, ${NAMED_CHECKOUT} as checkout
           ), marked as (
             update charge_session c set ${setOtherPayment('$3')}
             from (
               select session_id from finished f
               where (${isUnknownPayment('f.gateway', 'f.payment')})
                 or (${isUnknownCheckout('f.session_id', 'f.checkout')})
               union
               select session_id from callback_count where session_id = any($1) and asked_for_at is not null
             ) f
             where c.id = f.session_id and c.status = 'success'
           ), noted as (
             ${storeCheckouts(`select f.session_id, array_agg(f.checkout) from finished f
               join charge_session c on c.id = f.session_id
               where c.status = 'success' and ${isUnknownCheckout('f.session_id', 'f.checkout')}
               group by f.session_id`)}
           )
           select gateway, 'settled' as state from finished`,
    values: [sessionIds, reason, at],
  };
}
