// Records an event 14 days before a license expires, and one when its grace has ended. Each once per expiry,
// but a license that is reinstated after its end gets the second one again.
import type { Pool, PoolClient } from 'pg';
import type { EventType } from '../../lib/presentation/event-types.ts';
import { type Clock, DAY_MS } from '../clock.ts';
import { recordEvents } from '../event/outbox.ts';
import { epochMs } from '../storage/sql/epoch.ts';
import { inTransaction } from '../storage/sql/transaction.ts';

export type ExpiryEventsOptions = { readonly pool: Pool; readonly clock: Clock };

/** A type of event, recorded `daysBefore` days before `time`, a column or an indexed expression. */
type Expiry = {
  readonly type: EventType;
  /** The name of the statement. */
  readonly name: string;
  readonly time: string;
  readonly daysBefore: number;
};

const EXPIRIES: readonly Expiry[] = [
  // license_expires_idx
  { type: 'license.expiring', name: 'expiring_licenses', time: 'expires_at', daysBefore: 14 },
  // license_ends_idx
  {
    type: 'license.expired',
    name: 'expired_licenses',
    time: 'license_ends_at(expires_at, grace_days)',
    daysBefore: 0,
  },
];
const BATCH = 1_000;
/** Licenses in a row of the outbox, so that the hub numbers their events in several transactions. */
const ROW_SIZE = 500;
/** How often the hub looks for due events. */
export const EXPIRY_EVERY_MS = 30_000;

/**
 * Creates the function that records the due events. A lock on the mark lets one hub at a time record them.
 */
export function createExpiryEvents({ pool, clock }: ExpiryEventsOptions): () => Promise<void> {
  return async () => {
    for (const expiry of EXPIRIES) {
      while ((await recordBatch(pool, expiry, clock())) === BATCH);
    }
  };
}

/** Returns how many events it recorded. */
function recordBatch(pool: Pool, { type, name, time, daysBefore }: Expiry, now: Date): Promise<number> {
  return inTransaction(pool, async (client) => {
    const until = new Date(now.getTime() + daysBefore * DAY_MS);
    // The first pass over a new database records no events for the past.
    await client.query(
      'insert into license_expiry_mark (type, announced_until) values ($1, $2) on conflict do nothing',
      [type, until],
    );
    const { rows: marks } = await client.query<{ announcedMs: number }>(
      `select ${epochMs('announced_until')} as "announcedMs" from license_expiry_mark
       where type = $1 for update`,
      [type],
    );
    const recordedUntil = new Date(marks[0]?.announcedMs ?? until);
    if (recordedUntil >= until) return 0;
    const { rows } = await client.query<{ recorded: number; lastMs: number | null }>({
      name,
      text: `with first as (
               select ${time} as time from license
               where ${time} > $1 and ${time} <= $2 and revoked_at is null order by ${time} limit ${BATCH}
             ), due as (
               -- Includes all licenses with the last time, because the next batch begins after that time.
               select id, app_id, ${time} as time, row_number() over (order by ${time}, id) - 1 as number
               from license
               where ${time} > $1 and ${time} <= (select max(time) from first) and revoked_at is null
             ), recorded as (
               insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
               select $3, array_agg(id order by number), array_agg(app_id order by number),
                      array_agg(null::uuid), $4
               from due group by number / ${ROW_SIZE} order by number / ${ROW_SIZE}
             )
             select count(*)::int as recorded, ${epochMs('max(time)')} as "lastMs" from due`,
      values: [recordedUntil, until, type, now],
    });
    const { recorded = 0, lastMs = null } = rows[0] ?? {};
    await client.query('update license_expiry_mark set announced_until = $2 where type = $1', [
      type,
      recorded < BATCH || lastMs === null ? until : new Date(lastMs),
    ]);
    return Math.min(recorded, BATCH);
  });
}

/** No transaction that writes licenses lasts longer. An import takes at most 10 minutes. */
const MAX_TRANSACTION_MS = 3_600_000;

/** Whether the task may pass this end before the current transaction, which began after `now`, commits. */
export function mayPassSoon(endMs: number, now: Date): boolean {
  return endMs <= now.getTime() + MAX_TRANSACTION_MS;
}

/** The end of a license before and after a write. `beforeMs` is infinite for a new license. */
export type EndChange = {
  /** UUIDs. */
  readonly licenseId: string;
  readonly appId: string;
  readonly beforeMs: number;
  readonly afterMs: number;
};

/**
 * Records `license.expired` for each license whose new end the task has already passed but whose old end it
 * has not. The task looks only at ends after its mark (`license_expiry_mark`). Locking the mark makes the
 * task wait for this commit, so exactly one of the two records the event.
 *
 * @param now The time of the event, which may be from before a lock wait.
 */
export async function recordPassedEnds(
  client: PoolClient,
  changes: readonly EndChange[],
  now: Date,
): Promise<void> {
  const near = changes.filter(({ beforeMs, afterMs }) => afterMs < beforeMs && mayPassSoon(afterMs, now));
  if (near.length === 0) return;
  const { rows } = await client.query<{ passedMs: number }>({
    name: 'lock_expiry_mark',
    // Returns the time that the mark has after the lock is granted.
    text: `select ${epochMs('announced_until')} as "passedMs" from license_expiry_mark
           where type = 'license.expired' for share`,
  });
  const passedMs = rows[0]?.passedMs ?? Number.NEGATIVE_INFINITY;
  const events = near
    .filter(({ beforeMs, afterMs }) => afterMs <= passedMs && passedMs < beforeMs)
    .map(({ licenseId, appId }) => ({ type: 'license.expired', objectId: licenseId, appId }) as const);
  for (let from = 0; from < events.length; from += ROW_SIZE)
    await client.query(recordEvents(now, events.slice(from, from + ROW_SIZE)));
}
