// How many callbacks of one session the journal keeps in full: anybody who knows a session can send any number of them.
//
// Each session has a row of callback_count. The first callbacks take places there, in the statement that journals them;
// those beyond are only counted (count-callbacks.ts).

/**
 * Takes places for the callbacks `wanted` (session_id, nth_last). `nth_last` counts the callbacks of a session from the
 * last one, so that the new number of places tells which of them have one of the first `$limit`. A session that is full
 * is not touched: its row is the busiest during a flood.
 */
export function takePlaces(limit: `$${number}`): string {
  // callback_count_pkey; in the order of the ids, so that no two batches wait for each other in a circle
  return `places as (
  insert into callback_count as k (session_id, kept, ignored, mismatch)
  select w.session_id, count(*)::int, 0, 0 from wanted w
  where w.session_id is not null
    and not exists (select from callback_count f where f.session_id = w.session_id and f.kept >= ${limit})
  group by w.session_id order by w.session_id
  on conflict (session_id) do update set kept = k.kept + excluded.kept
  returning session_id, kept
)`;
}

/** Whether the callback `w`, `wanted`, has one of these places `p`; what names no session needs none. */
export function hasPlace(limit: `$${number}`): string {
  return `(w.session_id is null or p.kept - w.nth_last < ${limit})`;
}

/** `nth_last` of a callback `t` of the `charge_session c`. */
export const NTH_LAST = 'row_number() over (partition by c.id order by t.id desc) as nth_last';
