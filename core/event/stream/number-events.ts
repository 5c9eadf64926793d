// Gives committed events their numbers, and creates their deliveries.
//
// Transactions commit in another order than they begin, so a number given at insert could appear after a larger
// one was read. Events are numbered once they are committed, one batch at a time over all hubs.
import type { PoolClient } from 'pg';
import { newUuid } from '../../ids.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { readSubscriptions, type Subscription, subscribers } from '../endpoint/subscriptions.ts';
import { type ObjectReaders, readObjects } from '../objects.ts';
import { kindOf } from '../types.ts';

export type Numbered = {
  /** How many events were numbered. */
  readonly events: number;
  readonly deliveries: number;
  /** The last position of the outbox that was numbered. */
  readonly position: number;
};

export type NumberOptions = {
  readonly readers: ObjectReaders;
  readonly now: Date;
  /** The position in the outbox to begin after. Committed events before it are left for a later call. */
  readonly after: number;
};

/** Events of one batch. */
export const BATCH = 500;
const NONE: Numbered = { events: 0, deliveries: 0, position: 0 };

/**
 * Numbers up to `BATCH` events, in the caller's transaction.
 *
 * @param client Holds the lock `event_counter`.
 */
export async function numberEvents(
  client: PoolClient,
  lastNumber: number,
  { readers, now, after }: NumberOptions,
): Promise<Numbered> {
  const taken = await takeEvents(client, after);
  if (taken.length === 0) return NONE;
  const subscriptions = await readSubscriptions(client);
  const events = taken.map((event, index) => ({
    ...event,
    id: newUuid(),
    number: lastNumber + index + 1,
    endpoints: subscribers(subscriptions, event),
  }));
  await insertEvents(client, events, readers);
  const deliveries = await insertDeliveries(client, events, now);
  await client.query({
    name: 'move_event_counter',
    text: `insert into event_counter values ('events', $1)
           on conflict (name) do update set last_number = excluded.last_number`,
    values: [lastNumber + events.length],
  });
  return { events: events.length, deliveries, position: taken.at(-1)?.position ?? 0 };
}

/** The last number. Read it under the lock `event_counter`, in a statement of its own. */
export async function readLastNumber(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ last: string }>({
    name: 'read_last_number',
    text: `select last_number as last from event_counter where name = 'events'`,
  });
  return Number(rows[0]?.last ?? 0);
}

type Taken = {
  readonly position: number;
  readonly type: string;
  readonly objectId: string;
  readonly appId: string | null;
  readonly slotId: string | null;
  readonly at: Date;
};

async function takeEvents(client: PoolClient, after: number): Promise<Taken[]> {
  const { rows } = await client.query<Omit<Taken, 'position' | 'at'> & { position: string; atMs: number }>({
    name: 'take_events',
    // event_outbox_pkey
    text: `with taken as (
             delete from event_outbox where position in (
               select position from event_outbox where position > $1 order by position limit ${BATCH})
             returning *
           )
           select position, type, object_id as "objectId", app_id as "appId", slot_id as "slotId",
                  ${epochMs('at')} as "atMs"
           from taken order by position`,
    values: [after],
  });
  return rows.map(({ position, atMs, ...row }) => ({
    ...row,
    position: Number(position),
    at: new Date(atMs),
  }));
}

type NewEvent = Taken & {
  readonly id: string;
  readonly number: number;
  readonly endpoints: readonly Subscription[];
};

/** Stores the objects of events that are delivered. */
async function insertEvents(
  client: PoolClient,
  events: readonly NewEvent[],
  readers: ObjectReaders,
): Promise<void> {
  const delivered = events.filter(({ endpoints }) => endpoints.length > 0).map(refOf);
  const objectOf = await readObjects(readers, delivered);
  const shown = events.map((event) => (event.endpoints.length > 0 ? objectOf(refOf(event)) : undefined));
  await client.query({
    name: 'insert_events',
    text: `insert into event (id, number, type, object_id, app_id, slot_id, at, customer_id, data)
           select * from unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[],
                                $7::timestamptz[], $8::uuid[], $9::jsonb[])`,
    values: [
      events.map(({ id }) => id),
      events.map(({ number }) => number),
      events.map(({ type }) => type),
      events.map(({ objectId }) => objectId),
      events.map(({ appId }) => appId),
      events.map(({ slotId }) => slotId),
      events.map(({ at }) => at),
      shown.map((object) => object?.customerId ?? null),
      shown.map((object) => object && JSON.stringify(object.data)),
    ],
  });
}

function refOf({ type, objectId }: Pick<Taken, 'type' | 'objectId'>) {
  return { kind: kindOf(type), id: objectId };
}

async function insertDeliveries(client: PoolClient, events: readonly NewEvent[], now: Date): Promise<number> {
  const deliveries = events.flatMap(({ id, endpoints }) => endpoints.map((endpoint) => ({ id, endpoint })));
  if (deliveries.length === 0) return 0;
  await client.query({
    name: 'insert_deliveries',
    text: `insert into event_delivery (event_id, endpoint_id, state, next_attempt_at)
           select event_id, endpoint_id, 'pending', $3
           from unnest($1::uuid[], $2::uuid[]) as t (event_id, endpoint_id)`,
    values: [deliveries.map(({ id }) => id), deliveries.map(({ endpoint }) => endpoint.id), now],
  });
  return deliveries.length;
}
