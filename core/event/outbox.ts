// Records events in the transactions of their changes. The sequencer (stream/sequencer.ts) then numbers them.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase } from 'pg';
import type { EventType } from '../../lib/presentation/event-types.ts';
import { columns, type Write } from '../storage/sql/transaction.ts';
import { EventOutboxSchema } from './entities.ts';

export type NewEvent = {
  readonly type: EventType;
  /** UUID. */
  readonly objectId: string;
  /** UUID of the app or slot that the object belongs to, if any. */
  readonly appId?: string | null;
  readonly slotId?: string | null;
};

export function recordEvents(at: Date, events: readonly NewEvent[]): Write & { readonly name: string } {
  return {
    name: 'record_events',
    text: `insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
           select type, array_agg(object_id), array_agg(app_id), array_agg(slot_id), $5
           from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) as t (type, object_id, app_id, slot_id)
           group by type`,
    values: [...columns(events, 'type', 'objectId', 'appId', 'slotId'), at],
  };
}

/** Records one event in the current transaction of `client`. */
export async function recordEvent(client: ClientBase, at: Date, event: NewEvent): Promise<void> {
  await client.query(recordEvents(at, [event]));
}

/** Records one event in the unit of work of the ORM. */
export function addEvent(em: EntityManager, at: Date, event: NewEvent): void {
  const { type, objectId, appId = null, slotId = null } = event;
  em.create(EventOutboxSchema, { type, objectIds: [objectId], appIds: [appId], slotIds: [slotId], at });
}
