// Gives committed events their numbers, and creates their deliveries.
//
// Transactions commit in another order than they begin. If an insert assigned the number, a reader could see
// a larger number first and skip the smaller one. So the hub that holds the lock numbers committed events,
// one batch at a time.
import type { PoolClient } from 'pg';
import { newUuid } from '../../ids.ts';
import { readSubscriptions, type Subscription, subscribers } from '../endpoint/subscriptions.ts';
import { type ObjectReaders, objectRef, readObjects } from '../read-objects.ts';

export type Numbered = {
  readonly events: number;
  readonly deliveries: number;
  /** The position of the last row of the outbox in the batch. */
  readonly position: number;
  /** Whether the batch reached its limit, so that more events may wait. */
  readonly isFull: boolean;
};

export type NumberOptions = {
  readonly readers: ObjectReaders;
  readonly now: Date;
  /** Numbers only rows of the outbox after this position. */
  readonly after: number;
};

/** Maximum rows of the outbox in one batch. */
const MAX_ROWS = 200;
/** Maximum events of one batch, unless its first row has more: with endpoints, and without. */
const MAX_EVENTS = 500;
const MAX_EVENTS_WITHOUT_OBJECTS = 1_000;
const NONE: Numbered = { events: 0, deliveries: 0, position: 0, isFull: false };

/**
 * Numbers one batch of events, in the caller's transaction.
 *
 * @param client Holds the lock `event_counter`.
 */
export async function numberEvents(
  client: PoolClient,
  { readers, now, after }: NumberOptions,
): Promise<Numbered> {
  const subscriptions = await readSubscriptions(client);
  const maxEvents = subscriptions.length > 0 ? MAX_EVENTS : MAX_EVENTS_WITHOUT_OBJECTS;
  const { positions, count, isFull } = await findUnnumbered(client, after, maxEvents);
  if (count === 0) return NONE;
  const events = await moveEvents(client, { positions, count, subscriptions });
  const subscribed = events
    .map((event) => ({ ...event, endpoints: subscribers(subscriptions, event) }))
    .filter(({ endpoints }) => endpoints.length > 0);
  await storeData(client, subscribed, readers);
  const deliveries = await insertDeliveries(client, subscribed, now);
  return { events: count, deliveries, position: positions.at(-1) ?? 0, isFull };
}

type Unnumbered = {
  readonly positions: readonly number[];
  /** The number of events in these rows. */
  readonly count: number;
  readonly isFull: boolean;
};

async function findUnnumbered(client: PoolClient, after: number, maxEvents: number): Promise<Unnumbered> {
  const { rows } = await client.query<{ position: string; size: number }>({
    name: 'find_unnumbered',
    // event_outbox_pkey
    text: `select position, cardinality(object_ids) as size from event_outbox
           where position > $1 order by position limit ${MAX_ROWS}`,
    values: [after],
  });
  const positions: number[] = [];
  let count = 0;
  for (const { position, size } of rows) {
    if (count > 0 && count + size > maxEvents) break;
    positions.push(Number(position));
    count += size;
  }
  return { positions, count, isFull: positions.length < rows.length || rows.length === MAX_ROWS };
}

type Move = Omit<Unnumbered, 'isFull'> & {
  readonly subscriptions: readonly Subscription[];
};

type Moved = {
  readonly id: string;
  readonly type: string;
  readonly objectId: string;
  readonly appId: string | null;
  readonly slotId: string | null;
};

/**
 * Moves events from the outbox to `event`, and the counter. Returns the events of types that an endpoint
 * receives.
 */
async function moveEvents(client: PoolClient, { positions, count, subscriptions }: Move): Promise<Moved[]> {
  const { rows } = await client.query<Moved>({
    name: 'move_events',
    // event_outbox_pkey, event_counter_pkey
    text: `with taken as (
             delete from event_outbox where position = any($1) returning *
           ), counted as (
             insert into event_counter as c values ('events', $3)
             on conflict (name) do update set last_number = c.last_number + excluded.last_number
             returning last_number - $3 as before
           ), numbered as (
             select row_number() over (order by t.position, o.place) as nth, t.type, o.object_id, o.app_id,
               o.slot_id,
                    t.at
             from taken t cross join lateral unnest(t.object_ids, t.app_ids, t.slot_ids)
               with ordinality as o (object_id, app_id, slot_id, place)
           ), moved as (
             insert into event (id, number, type, object_id, app_id, slot_id, at)
             select ($2::uuid[])[nth], before + nth, type, object_id, app_id, slot_id, at
             from numbered, counted
             returning id, type, object_id, app_id, slot_id
           )
           select id, type, object_id as "objectId", app_id as "appId", slot_id as "slotId"
           from moved where type like any($4::text[])`,
    values: [
      positions,
      Array.from({ length: count }, () => newUuid()),
      count,
      subscriptions.flatMap(({ patterns }) => patterns.map((pattern) => pattern.replace('*', '%'))),
    ],
  });
  return rows;
}

type Subscribed = Moved & { readonly endpoints: readonly Subscription[] };

/** Stores the current objects of events that endpoints receive. */
async function storeData(
  client: PoolClient,
  events: readonly Subscribed[],
  readers: ObjectReaders,
): Promise<void> {
  if (events.length === 0) return;
  const objectOf = await readObjects(readers, events.map(objectRef));
  const shown = events.flatMap((event) => {
    const object = objectOf(objectRef(event));
    return object ? [{ id: event.id, ...object }] : [];
  });
  await client.query({
    name: 'store_event_data',
    text: `insert into event_data (event_id, data, customer_id)
           select * from unnest($1::uuid[], $2::jsonb[], $3::uuid[])`,
    values: [
      shown.map(({ id }) => id),
      shown.map(({ data }) => JSON.stringify(data)),
      shown.map(({ customerId }) => customerId ?? null),
    ],
  });
}

async function insertDeliveries(
  client: PoolClient,
  events: readonly Subscribed[],
  now: Date,
): Promise<number> {
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
