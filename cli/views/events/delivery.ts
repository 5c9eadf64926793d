// JSON schema and columns of deliveries.
import type { Delivery } from '../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { id, integer, object, optional, text, time, type ValueOf, word } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const DELIVERY = object(
  'Delivery',
  {
    endpointId: id('whe'),
    eventId: id('evt'),
    type: text(),
    state: word(DELIVERY_STATES),
    attempts: integer(),
    nextAttemptAt: optional(time('time of the next attempt')),
    lastAttemptAt: optional(time('time of the last attempt')),
    responseStatus: optional(integer('status of the last answer; missing without one')),
    responseBody: optional(text()),
    problem: optional(text('why the last attempt failed')),
    durationMs: optional(integer()),
  },
  { message: 'hub.event.v1.Delivery' },
);
export type DeliveryView = ValueOf<typeof DELIVERY>;

export function deliveryView(delivery: Delivery): DeliveryView {
  const { nextAttemptAt, lastAttemptAt, responseStatus, responseBody, problem, durationMs } = delivery;
  return {
    endpointId: delivery.endpointId,
    eventId: delivery.eventId,
    type: delivery.type,
    state: wordFor(DELIVERY_STATES, delivery.state),
    attempts: delivery.attempts,
    ...(nextAttemptAt && { nextAttemptAt: rfc3339(nextAttemptAt) }),
    ...(lastAttemptAt && { lastAttemptAt: rfc3339(lastAttemptAt), durationMs }),
    ...(responseStatus !== 0 && { responseStatus }),
    ...(responseBody !== '' && { responseBody }),
    ...(problem !== '' && { problem }),
  };
}

const OUTCOME: readonly Column<DeliveryView>[] = [
  { title: 'STATE', cell: (item) => item.state },
  { title: 'ATTEMPTS', cell: (item) => item.attempts, right: true },
  { title: 'LAST', cell: (item) => shortTime(item.lastAttemptAt) },
  { title: 'NEXT', cell: (item) => shortTime(item.nextAttemptAt) },
  { title: 'STATUS', cell: (item) => item.responseStatus, right: true },
  { title: 'MS', cell: (item) => item.durationMs, right: true },
  { title: 'PROBLEM', cell: (item) => item.problem },
];

/** The columns of the deliveries to one endpoint. */
export const DELIVERIES_TO_ENDPOINT_COLUMNS: readonly Column<DeliveryView>[] = [
  { title: 'EVENT', cell: (item) => item.eventId },
  { title: 'TYPE', cell: (item) => item.type },
  ...OUTCOME,
];

/** The columns of the deliveries of one event. */
export const DELIVERIES_OF_EVENT_COLUMNS: readonly Column<DeliveryView>[] = [
  { title: 'ENDPOINT', cell: (item) => item.endpointId },
  ...OUTCOME,
];

export const DELIVERY_FIELDS: readonly Column<DeliveryView>[] = [
  { title: 'Event', cell: (item) => item.eventId },
  { title: 'Type', cell: (item) => item.type },
  { title: 'Endpoint', cell: (item) => item.endpointId },
  { title: 'State', cell: (item) => item.state },
  { title: 'Status', cell: (item) => item.responseStatus },
  { title: 'Problem', cell: (item) => item.problem },
  { title: 'Took', cell: ({ durationMs }) => (durationMs === undefined ? undefined : `${durationMs} ms`) },
  { title: 'Answer', cell: (item) => item.responseBody },
  { title: 'Next attempt', cell: (item) => shortTime(item.nextAttemptAt) },
];
