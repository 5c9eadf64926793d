// Counts the callbacks of a session by state: journaled ones and ones that were only counted.
import type { Pool } from 'pg';
import type { CallbackStateName } from '../entities.ts';
import { querySums } from '../usage/query-sums.ts';

export type CallbackCount = {
  readonly state: CallbackStateName;
  /** Callbacks in the journal. */
  readonly kept: bigint;
  readonly onlyCounted: bigint;
};

/** SQL, because the ORM has no union of tables. States without callbacks are left out. */
export function countCallbacks(pool: Pool, sessionId: string): Promise<readonly CallbackCount[]> {
  return querySums<CallbackCount>(pool, SQL, [sessionId], { name: 'callback_counts' });
}

// callback_session_idx, callback_count_pkey
const SQL = `
  select state, sum(kept) as kept, sum(only_counted) as "onlyCounted"
  from (
    select state, count(*) as kept, 0 as only_counted from callback where session_id = $1 group by state
    union all select 'ignored', 0, ignored from callback_count where session_id = $1
    union all select 'mismatch', 0, mismatch from callback_count where session_id = $1
  ) as counts
  group by state having sum(kept + only_counted) > 0 order by state`;
