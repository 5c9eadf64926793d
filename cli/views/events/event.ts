// JSON schemas, columns and CSV of events.
import { csv } from '../../output/csv.ts';
import { columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { DELIVERY } from './delivery.ts';

export const EVENT = json.view(
  'Event',
  { message: 'hub.event.v1.Event', without: ['data'] },
  {
    eventId: json.id('evt'),
    type: json.text(),
    createdAt: json.time(),
    object: json.text(),
    sequence: json.integer(),
    app: json.optional(json.text('slug of the app of the object')),
    slot: json.optional(json.text('name of the slot of the object')),
  },
);
export type EventView = json.ValueOf<typeof EVENT>;

export const EVENTS = json.object('Events', {
  events: json.list(EVENT),
  count: json.integer('number of listed events'),
});

const DATA = json.optional(
  json.facts('the object, as the administration RPCs show it; missing if it no longer exists'),
);

export const EVENT_WITH_DELIVERIES = json.object('EventWithDeliveries', {
  ...EVENT.properties,
  data: DATA,
  deliveries: json.list(DELIVERY, 'one for each endpoint, at most 100'),
});

export const STREAMED_EVENT = json.object('StreamedEvent', {
  cursor: json.text('where to continue with --cursor'),
  ...EVENT.properties,
  data: DATA,
});
export type StreamedEventView = json.ValueOf<typeof STREAMED_EVENT>;

export const eventView = json.viewer(EVENT);

const EVENT_WITH_DATA = json.object('EventWithData', { ...EVENT.properties, data: DATA });

export const eventWithDataView = json.viewer(EVENT_WITH_DATA);

const ABOUT_OBJECT = ['createdAt', 'object', 'app', 'slot'] as const;
export const EVENT_FIELDS = columnsOf(EVENT, 'eventId', 'type', 'sequence', ...ABOUT_OBJECT);

export const EVENT_COLUMNS = columnsOf(EVENT, 'eventId', 'sequence', 'type', ...ABOUT_OBJECT);

export const EVENT_CSV = csv<EventView>('eventId', 'type', 'createdAt', 'object', 'sequence', 'app', 'slot');
