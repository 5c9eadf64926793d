// JSON schemas, columns and CSV of events.
import type { Event } from '../../../gen/hub/event/v1/event_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  facts,
  id,
  integer,
  list,
  object,
  optional,
  text,
  time,
  type ValueOf,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { DELIVERY } from './delivery.ts';

export const EVENT = object(
  'Event',
  {
    eventId: id('evt'),
    type: text(),
    createdAt: time(),
    object: text(),
    sequence: integer(),
    app: optional(text('slug of the app of the object')),
    slot: optional(text('name of the slot of the object')),
  },
  { message: 'hub.event.v1.Event', without: ['data'] },
);
export type EventView = ValueOf<typeof EVENT>;

export const EVENTS = object('Events', {
  events: list(EVENT),
  count: integer('number of listed events'),
});

const DATA = optional(
  facts('the object, as the administration RPCs show it; missing if it no longer exists'),
);

export const EVENT_WITH_DELIVERIES = object('EventWithDeliveries', {
  ...EVENT.properties,
  data: DATA,
  deliveries: list(DELIVERY, 'one for each endpoint, at most 100'),
});

export const STREAMED_EVENT = object('StreamedEvent', {
  cursor: text('where to continue with --cursor'),
  ...EVENT.properties,
  data: DATA,
});
export type StreamedEventView = ValueOf<typeof STREAMED_EVENT>;

export function eventView(event: Event): EventView {
  const { app, slot } = event;
  return {
    eventId: event.eventId,
    type: event.type,
    createdAt: rfc3339(requireField(event.createdAt, 'creation time')),
    object: event.object,
    sequence: Number(event.sequence),
    ...(app !== undefined && { app }),
    ...(slot !== undefined && { slot }),
  };
}

export function eventWithDataView(event: Event): EventView & { readonly data?: object } {
  return { ...eventView(event), ...(event.data !== undefined && { data: event.data }) };
}

export const EVENT_COLUMNS: readonly Column<EventView>[] = [
  { title: 'EVENT', cell: (item) => item.eventId },
  { title: 'SEQUENCE', cell: (item) => item.sequence, right: true },
  { title: 'TYPE', cell: (item) => item.type },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'OBJECT', cell: (item) => item.object },
  { title: 'APP', cell: (item) => item.app },
  { title: 'SLOT', cell: (item) => item.slot },
];

export const EVENT_FIELDS: readonly Column<EventView>[] = [
  { title: 'Event', cell: (item) => item.eventId },
  { title: 'Type', cell: (item) => item.type },
  { title: 'Sequence', cell: (item) => item.sequence },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Object', cell: (item) => item.object },
  { title: 'App', cell: (item) => item.app },
  { title: 'Slot', cell: (item) => item.slot },
];

/** CSV columns by name. */
export const EVENT_CSV: Readonly<Record<string, (item: EventView) => string>> = {
  eventId: (item) => item.eventId,
  type: (item) => item.type,
  createdAt: (item) => item.createdAt,
  object: (item) => item.object,
  sequence: (item) => String(item.sequence),
  app: (item) => item.app ?? '',
  slot: (item) => item.slot ?? '',
};
