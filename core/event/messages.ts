// Converts between the event module's types and its protobuf messages.
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  type DeliverySchema,
  DeliveryState,
  type EndpointSchema,
  type EventSchema,
} from '../../gen/hub/event/v1/event_pb.ts';
import { formatId } from '../ids.ts';
import { isAccepted } from './delivery/attempt.ts';
import type { DeliveryWithType, TestedDelivery } from './delivery/delivery-admin.ts';
import type { DeliveryStateName, Endpoint } from './entities.ts';
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

/** Names of the apps and slots of endpoints, by UUID. */
export type ScopeNames = ReadonlyMap<string, string>;

export function endpointToProto(
  endpoint: Endpoint,
  names: ScopeNames,
): MessageInitShape<typeof EndpointSchema> {
  const { disabledAt, failingSince, previousSecretUntil } = endpoint;
  const nameOf = (id: string): string => names.get(id) ?? '';
  return {
    endpointId: formatId('whe', endpoint.id),
    url: endpoint.url,
    events: endpoint.eventTypes,
    apps: endpoint.appIds.map(nameOf),
    slots: endpoint.slotIds.map(nameOf),
    includeKeys: endpoint.includeKeys,
    description: endpoint.description,
    createdAt: timestampFromDate(endpoint.createdAt),
    ...(disabledAt && { disabledAt: timestampFromDate(disabledAt) }),
    disabledReason: endpoint.disabledReason ?? '',
    ...(failingSince && { failingSince: timestampFromDate(failingSince) }),
    ...(previousSecretUntil && { previousSecretUntil: timestampFromDate(previousSecretUntil) }),
  };
}

const STATES: Readonly<Record<DeliveryStateName, DeliveryState>> = {
  pending: DeliveryState.PENDING,
  delivered: DeliveryState.DELIVERED,
  failed: DeliveryState.FAILED,
};

export function deliveryToProto(delivery: DeliveryWithType): MessageInitShape<typeof DeliverySchema> {
  const { nextAttemptAt, lastAttemptAt } = delivery;
  return {
    endpointId: formatId('whe', delivery.endpoint.id),
    eventId: formatId('evt', delivery.eventId),
    type: delivery.type,
    state: STATES[delivery.state],
    attempts: delivery.attempts,
    ...(nextAttemptAt && { nextAttemptAt: timestampFromDate(nextAttemptAt) }),
    ...(lastAttemptAt && { lastAttemptAt: timestampFromDate(lastAttemptAt) }),
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
    state: isAccepted(result) ? DeliveryState.DELIVERED : DeliveryState.FAILED,
    attempts: 1,
    lastAttemptAt: timestampFromDate(at),
    durationMs: Math.round(durationMs),
    ...(result.kind === 'answered'
      ? { responseStatus: result.status, responseBody: result.body }
      : { problem: result.problem }),
  };
}

/** UNSPECIFIED becomes undefined. */
export function deliveryStateFromProto(state: DeliveryState): DeliveryStateName | undefined {
  switch (state) {
    case DeliveryState.PENDING:
      return 'pending';
    case DeliveryState.DELIVERED:
      return 'delivered';
    case DeliveryState.FAILED:
      return 'failed';
    default:
      return undefined;
  }
}
