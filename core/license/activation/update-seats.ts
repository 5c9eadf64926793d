// Updates the label and version of machines that have a seat.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { columns } from '../../storage/sql/transaction.ts';

export type SeatUpdate = {
  readonly seatId: string;
  /** An empty string keeps the recorded value. */
  readonly machineLabel: string;
  readonly appVersion: string;
};

/**
 * Returns one result per update, in order; false if the seat has been released. Later updates of a seat win.
 */
export async function updateSeats(
  updates: readonly SeatUpdate[],
  { pool, clock }: { readonly pool: Pool; readonly clock: Clock },
): Promise<boolean[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'update_seats',
    // seat_pkey. In the order of the ids, like the writer of last-seen times: the two cannot deadlock.
    text: `with updates as (
             select id, (array_agg(label order by position desc) filter (where label <> ''))[1] as label,
                    (array_agg(version order by position desc) filter (where version <> ''))[1] as version
             from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as t (id, label, version,
               position)
             group by id
           ), locked as materialized (
             select id from seat where id = any($1) and released_at is null order by id for no key update
           )
           update seat s
           set machine_label = coalesce(u.label, s.machine_label), app_version = coalesce(u.version,
             s.app_version),
               last_seen_at = $4
           from updates u join locked l on l.id = u.id
           where s.id = l.id
           returning s.id`,
    values: [...columns(updates, 'seatId', 'machineLabel', 'appVersion'), clock()],
  });
  const updated = new Set(rows.map(({ id }) => id));
  return updates.map(({ seatId }) => updated.has(seatId));
}
