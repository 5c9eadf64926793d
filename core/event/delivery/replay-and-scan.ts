// The statements that replay a delivery and that limit the scan of a list of deliveries.
import type { Pool } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { formatId, type Uuid } from '../../ids.ts';
import { MAX_SCANNED_ROWS } from '../../storage/sql/page.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';

export type Replay = {
  /** UUID. */
  readonly eventId: string;
  /** UUID. */
  readonly endpointId: string;
  readonly actor: Actor;
  readonly clock: Clock;
};

/** Makes a delivery due again, or creates it. */
export async function replayDelivery(
  pool: Pool,
  { eventId, endpointId, actor, clock }: Replay,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const now = clock();
    await client.query({
      name: 'replay_delivery',
      // event_delivery_pkey
      text: `insert into event_delivery (event_id, endpoint_id, state, next_attempt_at)
             values ($1, $2, 'pending', $3)
             on conflict (event_id, endpoint_id) do update
             set state = 'pending', attempts = 0, next_attempt_at = $3`,
      values: [eventId, endpointId, now],
    });
    await recordChangeNow(client, actor, now, {
      action: 'event.replay',
      subject: formatId('evt', eventId),
      before: null,
      after: { endpointId: formatId('whe', endpointId) },
    });
  });
}

/**
 * The last of the `MAX_SCANNED_ROWS` events after a position that have a delivery; undefined if there are
 * fewer.
 */
export async function endOfScan(
  pool: Pool,
  endpointId: string,
  after: Uuid | undefined,
): Promise<Uuid | undefined> {
  const { rows } = await pool.query<{ id: Uuid }>({
    name: 'end_of_delivery_scan',
    // event_delivery_endpoint_idx
    text: `select event_id as id from event_delivery where endpoint_id = $1 and event_id < $2
           order by event_id desc offset ${MAX_SCANNED_ROWS - 1} limit 1`,
    values: [endpointId, after ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  });
  return rows[0]?.id;
}
