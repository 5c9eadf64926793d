// Records an event 14 days before a license expires, and one when its grace has ended. Each once per expiry.
import type { Pool } from 'pg';
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
    const { rows } = await client.query<{ id: string; appId: string; timeMs: number }>({
      name,
      text: `with first as (
               select ${time} as time from license
               where ${time} > $1 and ${time} <= $2 and revoked_at is null order by ${time} limit ${BATCH}
             )
             -- Includes all licenses with the last time, because the next batch begins after that time.
             select id, app_id as "appId", ${epochMs(time)} as "timeMs" from license
             where ${time} > $1 and ${time} <= (select max(time) from first) and revoked_at is null
             order by ${time}`,
      values: [recordedUntil, until],
    });
    const events = rows.map(({ id, appId }) => ({ type, objectId: id, appId }));
    await client.query(recordEvents(now, events));
    await client.query('update license_expiry_mark set announced_until = $2 where type = $1', [
      type,
      rows.length < BATCH ? until : new Date(rows.at(-1)?.timeMs ?? until),
    ]);
    return Math.min(rows.length, BATCH);
  });
}
