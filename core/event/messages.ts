// Converts between the event module's types and its protobuf messages.
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { DeliverySchema, EndpointSchema, EventSchema } from '../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES } from '../../lib/presentation/enum-names.ts';
import { formatId } from '../ids.ts';
import { timestampsIn } from '../timestamp.ts';
import { isAccepted } from './delivery/attempt-delivery.ts';
import type { DeliveryWithType, TestedDelivery } from './delivery/delivery-admin.ts';
import type { Endpoint } from './entities.ts';
import type { EventWithData, StoredEvent } from './stream/events.ts';
import { kindOf, OBJECT_KINDS } from './types.ts';

export function eventToProto(event: StoredEvent | EventWithData): MessageInitShape<typeof EventSchema> {
  const { id, number, type, objectId, at, app, slot } = event;
  return {
    eventId: formatId('evt', id),
    type,
    createdAt: timestampFromDate(at),
    object: formatId(OBJECT_KINDS[kindOf(type)], objectId),
    sequence: BigInt(number),
    ...(app !== null && { app }),
    ...(slot !== null && { slot }),
    // Made from JSON.
    ...('data' in event && event.data !== null && { data: event.data as JsonObject }),
  };
}

/** @param names names of the apps and slots of endpoints, by UUID */
export function endpointToProto(
  endpoint: Endpoint,
  names: ReadonlyMap<string, string>,
): MessageInitShape<typeof EndpointSchema> {
  const nameOf = (id: string): string => names.get(id) ?? '';
  return {
    endpointId: formatId('whe', endpoint.id),
    url: endpoint.url,
    events: endpoint.eventTypes,
    apps: endpoint.appIds.map(nameOf),
    slots: endpoint.slotIds.map(nameOf),
    includeKeys: endpoint.includeKeys,
    description: endpoint.description,
    disabledReason: endpoint.disabledReason ?? '',
    ...timestampsIn(endpoint, 'createdAt', 'disabledAt', 'failingSince', 'previousSecretUntil'),
  };
}

export function deliveryToProto(delivery: DeliveryWithType): MessageInitShape<typeof DeliverySchema> {
  return {
    endpointId: formatId('whe', delivery.endpoint.id),
    eventId: formatId('evt', delivery.eventId),
    type: delivery.type,
    state: DELIVERY_STATES[delivery.state],
    attempts: delivery.attempts,
    ...timestampsIn(delivery, 'nextAttemptAt', 'lastAttemptAt'),
    responseStatus: delivery.responseStatus ?? 0,
    responseBody: delivery.responseBody ?? '',
    problem: delivery.problem ?? '',
    durationMs: delivery.durationMs ?? 0,
  };
}

export function testToProto(tested: TestedDelivery): MessageInitShape<typeof DeliverySchema> {
  const { eventId, endpointId, at, durationMs, result } = tested;
  return {
    endpointId,
    eventId,
    type: 'endpoint.test',
    state: isAccepted(result) ? DELIVERY_STATES.delivered : DELIVERY_STATES.failed,
    attempts: 1,
    lastAttemptAt: timestampFromDate(at),
    durationMs: Math.round(durationMs),
    ...(result.kind === 'answered'
      ? { responseStatus: result.status, responseBody: result.body }
      : { problem: result.problem }),
  };
}
