// JSON schema and columns of deliveries.
import type { Delivery } from '../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES } from '../../../lib/presentation/enum-names.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';

export const DELIVERY = json.view('Delivery', 'hub.event.v1.Delivery', {
  endpointId: json.id('whe'),
  eventId: json.id('evt'),
  type: json.text(),
  state: json.word(DELIVERY_STATES),
  attempts: json.integer(),
  nextAttemptAt: json.optional(json.time('time of the next attempt')),
  lastAttemptAt: json.optional(json.time('time of the last attempt')),
  responseStatus: json.unlessZero(json.integer('status of the last answer; missing without one')),
  responseBody: json.optional(json.text()),
  problem: json.optional(json.text('why the last attempt failed')),
  durationMs: json.optional(json.integer()),
});
export type DeliveryView = json.ValueOf<typeof DELIVERY>;

export function deliveryView(delivery: Delivery | undefined): DeliveryView {
  const hasAttempt = delivery?.lastAttemptAt !== undefined;
  return json.viewOf(DELIVERY, delivery, hasAttempt ? {} : { durationMs: undefined });
}

const OUTCOME: readonly Column<DeliveryView>[] = [
  ...columnsOf(DELIVERY, 'state', 'attempts', { lastAttemptAt: 'Last', nextAttemptAt: 'Next' }),
  ...columnsOf(DELIVERY, { responseStatus: 'Status', durationMs: 'MS' }, 'problem'),
];

export const DELIVERIES_TO_ENDPOINT_COLUMNS: readonly Column<DeliveryView>[] = [
  ...columnsOf(DELIVERY, 'eventId', 'type'),
  ...OUTCOME,
];

export const DELIVERIES_OF_EVENT_COLUMNS: readonly Column<DeliveryView>[] = [
  { title: 'ENDPOINT', cell: (item) => item.endpointId },
  ...OUTCOME,
];

export const DELIVERY_FIELDS: readonly Column<DeliveryView>[] = [
  ...columnsOf(DELIVERY, 'eventId', 'type', 'endpointId', 'state', { responseStatus: 'Status' }, 'problem'),
  { title: 'Took', cell: ({ durationMs }) => (durationMs === undefined ? undefined : `${durationMs} ms`) },
  ...columnsOf(DELIVERY, { responseBody: 'Answer' }, 'nextAttemptAt'),
];
