// Records the last event that is pruned, so that streams from the cursor 0 begin after it.
import type { PoolClient } from 'pg';

/**
 * Pruning drops events by id. Ids contain the clock of the hub that wrote them. If clocks differ, an event
 * may stay although one with a larger number is dropped. A stream that began with it would report a gap.
 * Events of the default partition stay, even if the clock of their hub was before 2020.
 */
export async function recordLastPruned(client: PoolClient, floor: string): Promise<void> {
  await client.query(
    // event_number_idx of the months, event_counter_pkey
    `insert into event_counter as c
     select 'pruned', number from event where id < $1 and tableoid <> 'event_default'::regclass
     order by number desc limit 1
     on conflict (name) do update set last_number = greatest(c.last_number, excluded.last_number)`,
    [floor],
  );
}
