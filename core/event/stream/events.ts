// Reads one event, a page of a list, or the events after a number.
import type { Pool } from 'pg';
import type { ListEventsRequest } from '../../../gen/hub/event/v1/event_service_pb.ts';
import type { Scope } from '../../access/entities.ts';
import { HubError } from '../../errors.ts';
import { parseId, type Uuid } from '../../ids.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import {
  MAX_SCANNED_ROWS,
  type Page,
  type PageRequest,
  readScannedPage,
  type Scanned,
} from '../../storage/sql/page.ts';
import type { Data } from '../delivery/payload.ts';
import { findScopeIds } from '../endpoint/scope-names.ts';
import { type ObjectReaders, objectRef, readObjects } from '../read-objects.ts';
import { OBJECT_KINDS, typesOf } from '../types.ts';

export type StoredEvent = {
  readonly id: string;
  readonly number: number;
  readonly type: string;
  readonly objectId: string;
  readonly at: Date;
  /** Slug. */
  readonly app: string | null;
  /** Name. */
  readonly slot: string | null;
};

export type EventWithData = StoredEvent & { readonly data: Data };

export type EventFilter = Pick<ListEventsRequest, 'types' | 'object' | 'app' | 'slot'> & {
  /** The apps and slots that the caller's token is limited to; undefined if it is not limited. */
  readonly scope?: Scope | undefined;
};

/** An order has an app and a slot, as its events: a limited token needs both. */
export function isInScope(
  { app, slot }: Pick<StoredEvent, 'app' | 'slot'>,
  scope: Scope | undefined,
): boolean {
  if (scope === undefined) return true;
  return (app === null || scope.apps.includes(app)) && (slot === null || scope.slots.includes(slot));
}

export type Events = ReturnType<typeof createEvents>;

type Row = Omit<StoredEvent, 'number' | 'at'> & { readonly number: string; readonly atMs: number };

const COLUMNS = `e.id, e.number, e.type, e.object_id as "objectId", ${epochMs('e.at')} as "atMs",
  a.slug as app, s.name as slot`;
const FROM = `event e left join app a on a.id = e.app_id left join slot s on s.id = e.slot_id`;

export function createEvents(pool: Pool, readers: ObjectReaders) {
  /** Adds the stored data, or the current objects if no data is stored. */
  const withData = async (events: readonly StoredEvent[]): Promise<EventWithData[]> => {
    const { rows } = await pool.query<{ id: string; data: Data }>({
      name: 'read_event_data',
      // event_data_pkey
      text: 'select event_id as id, data from event_data where event_id = any($1)',
      values: [events.map(({ id }) => id)],
    });
    const stored = new Map(rows.map(({ id, data }) => [id, data]));
    const objectOf = await readObjects(readers, events.filter(({ id }) => !stored.has(id)).map(objectRef));
    return events.map((event) => ({
      ...event,
      data: stored.get(event.id) ?? objectOf(objectRef(event))?.data ?? null,
    }));
  };

  return {
    withData,

    /**
     * Newest first. @throws HubError `app_unknown`, `slot_unknown`, `event_type_unknown`,
     * `page_token_invalid`
     */
    async list(filter: EventFilter, request: PageRequest): Promise<Page<StoredEvent>> {
      const resolved = await resolveFilter(pool, filter);
      const objectId = filter.object === undefined ? undefined : parseObject(filter.object);
      if (objectId === null) return { items: [], nextPageToken: '' };
      return readScannedPage(request, 'evt', (after, limit) =>
        scanEvents(pool, { ...resolved, scope: filter.scope, objectId, after, limit }),
      );
    },

    /** @throws HubError `event_unknown` */
    async get(eventId: string): Promise<StoredEvent> {
      const { rows } = await pool.query<Row>({
        name: 'read_event',
        // event_pkey
        text: `select ${COLUMNS} from ${FROM} where e.id = $1`,
        values: [parseId('evt', eventId) ?? null],
      });
      if (rows[0] !== undefined) return toEvent(rows[0]);
      const message = 'there is no event with this id; it may be pruned';
      throw new HubError('event_unknown', message, { field: 'eventId' });
    },

    /** Reads up to `limit` events after a number, in the order of their numbers. */
    async readAfter(number: number, limit: number): Promise<StoredEvent[]> {
      const { rows } = await pool.query<Row>({
        name: 'read_events_after',
        // event_number_idx
        text: `select ${COLUMNS} from ${FROM} where e.number > $1 order by e.number limit $2`,
        values: [number, limit],
      });
      return rows.map(toEvent);
    },

    /** Reads the number from which no event is pruned, and that of the last event; 0 without events. */
    async span(): Promise<{ readonly first: number; readonly last: number }> {
      const { rows } = await pool.query<{ first: string | null; last: string | null }>({
        name: 'read_event_span',
        // event_number_idx, event_counter_pkey. An event may stay although a later one is pruned: see
        // prune-guard.ts.
        text: `select greatest((select number from event order by number limit 1),
                               (select last_number + 1 from event_counter where name = 'pruned')) as first,
                      (select last_number from event_counter where name = 'events') as last`,
      });
      const last = Number(rows[0]?.last ?? 0);
      return { first: Number(rows[0]?.first ?? (last === 0 ? 0 : last + 1)), last };
    },
  };
}

type Scan = Awaited<ReturnType<typeof resolveFilter>> & {
  readonly scope: Scope | undefined;
  readonly objectId: Uuid | undefined;
  readonly after: Uuid | undefined;
  readonly limit: number;
};

/** Up to `limit` events, newest first. Only those of an object have an index. */
async function scanEvents(
  pool: Pool,
  { types, appId, slotId, scope, objectId, after, limit }: Scan,
): Promise<Scanned<StoredEvent>> {
  const isFiltered = types !== undefined || appId !== null || slotId !== null;
  const end = objectId === undefined && isFiltered ? await endOfScan(pool, after) : undefined;
  const values: unknown[] = [];
  const value = (each: unknown): string => `$${values.push(each)}`;
  const conditions = [
    ...(objectId === undefined ? [] : [`e.object_id = ${value(objectId)}`]),
    ...(types === undefined ? [] : [`e.type = any(${value([...types])})`]),
    ...(appId === null ? [] : [`e.app_id = ${value(appId)}`]),
    ...(slotId === null ? [] : [`e.slot_id = ${value(slotId)}`]),
    // As isInScope.
    ...(scope === undefined ? [] : [`(a.slug = any(${value(scope.apps)}) or e.app_id is null)`]),
    ...(scope === undefined ? [] : [`(s.name = any(${value(scope.slots)}) or e.slot_id is null)`]),
    ...(after === undefined ? [] : [`e.id < ${value(after)}`]),
    ...(end === undefined ? [] : [`e.id >= ${value(end)}`]),
  ];
  const { rows } = await pool.query<Row>({
    // event_object_idx or event_pkey, from the end
    text: `select ${COLUMNS} from ${FROM} where ${conditions.join(' and ') || 'true'}
           order by e.id desc limit ${value(limit)}`,
    values,
  });
  return { found: rows.map(toEvent), end };
}

/** The last of the `MAX_SCANNED_ROWS` events after a position; undefined if there are fewer. */
async function endOfScan(pool: Pool, after: Uuid | undefined): Promise<Uuid | undefined> {
  const { rows } = await pool.query<{ id: Uuid }>({
    name: 'end_of_event_scan',
    // event_pkey
    text: `select id from event where id < $1 order by id desc offset ${MAX_SCANNED_ROWS - 1} limit 1`,
    values: [after ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  });
  return rows[0]?.id;
}

/** @throws HubError `app_unknown`, `slot_unknown`, `event_type_unknown` */
export async function resolveFilter(pool: Pool, { types, app, slot }: EventFilter) {
  const [appId = null] = app === undefined ? [] : await findScopeIds(pool, 'app', [app], 'app');
  const [slotId = null] = slot === undefined ? [] : await findScopeIds(pool, 'slot', [slot], 'slot');
  return { types: types.length > 0 ? typesOf(types, 'types') : undefined, appId, slotId };
}

/** Parses the id of an object to a UUID; null if it is invalid. */
function parseObject(text: string): Uuid | null {
  const ids = Object.values(OBJECT_KINDS).map((prefix) => parseId(prefix, text));
  return ids.find((id) => id !== undefined) ?? null;
}

function toEvent({ number, atMs, ...event }: Row): StoredEvent {
  return { ...event, number: Number(number), at: new Date(atMs) };
}
