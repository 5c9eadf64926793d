// How many callbacks a session has, by state: those in the journal, and those that were only counted.
import type { Pool } from 'pg';
import type { CallbackStateName } from './entities.ts';

export type CallbackCount = {
  readonly state: CallbackStateName;
  /** In the journal. */
  readonly kept: bigint;
  readonly onlyCounted: bigint;
};

/** States without any are left out. */
export async function countCallbacks(pool: Pool, sessionId: string): Promise<readonly CallbackCount[]> {
  const { rows } = await pool.query<{ state: CallbackStateName; kept: string; onlyCounted: string }>({
    name: 'callback_counts',
    // callback_session_idx, callback_count_pkey
    text: `select state, sum(kept) as kept, sum(only_counted) as "onlyCounted"
           from (
             select state, count(*) as kept, 0 as only_counted from callback where session_id = $1 group by state
             union all select 'ignored', 0, ignored from callback_count where session_id = $1
             union all select 'mismatch', 0, mismatch from callback_count where session_id = $1
           ) as counts
           group by state having sum(kept + only_counted) > 0 order by state`,
    values: [sessionId],
  });
  return rows.map(({ state, kept, onlyCounted }) => ({
    state,
    kept: BigInt(kept),
    onlyCounted: BigInt(onlyCounted),
  }));
}
