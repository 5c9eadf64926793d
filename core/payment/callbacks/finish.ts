// Records the final state of callbacks.
import type { Pool, PoolClient } from 'pg';
import type { Write } from '../../storage/sql/transaction.ts';
import type { CallbackStateName } from '../entities.ts';

/** The final state of a callback, and the reason that operators see. */
export type Outcome = {
  readonly state: Exclude<CallbackStateName, 'received'>;
  readonly reason: string;
  readonly sessionId?: string | undefined;
};

export type Finished = Outcome & { readonly id: string };

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
           returning c.gateway, c.state`,
    values: [
      finished.map(({ id }) => id),
      finished.map(({ state }) => state),
      finished.map(({ reason }) => reason),
      finished.map(({ sessionId }) => sessionId ?? null),
      at,
    ],
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
  const { rowCount } = await db.query({ name: 'finish_callbacks', ...finishing(finished, at) });
  return rowCount ?? 0;
}
