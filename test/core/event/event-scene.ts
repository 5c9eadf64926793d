// A hub with clients for its events, a receiver of webhooks, and waits for both.
import { type Client, createClient } from '@connectrpc/connect';
import type { Delivery, Event } from '../../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import type { TestHub } from '../../support/hub/hub.ts';
import { until } from '../../support/until.ts';

export type EventClient = Client<typeof EventService>;

/** Webhook receivers listen on the loopback interface. */
export const RECEIVER_SETTINGS = { eventAllowNetworks: ['127.0.0.0/8'] };

export function eventClient({ transport }: Pick<TestHub, 'transport'>): EventClient {
  return createClient(EventService, transport);
}

/** Creates an endpoint. The default receives all events. */
export async function addEndpoint(
  events: EventClient,
  url: string,
  settings: object = {},
): Promise<{ readonly endpointId: string; readonly secret: string }> {
  const { endpoint, secret } = await events.createEndpoint({ settings: { url, events: ['*'], ...settings } });
  return { endpointId: endpoint?.endpointId ?? '', secret };
}

/** The events of an object, in the order of their numbers, once there are so many. */
export async function eventsOf(events: EventClient, object: string, count: number): Promise<Event[]> {
  let found: Event[] = [];
  await until(async () => {
    ({ events: found } = await events.listEvents({ object }));
    return found.length >= count;
  }, `${object} has ${count} events`);
  return found.toSorted((one, other) => Number(one.sequence - other.sequence));
}

/** The delivery of an event to an endpoint, once it satisfies a condition. */
export async function untilDelivery(
  events: EventClient,
  { eventId, endpointId }: { readonly eventId: string; readonly endpointId: string },
  condition: (delivery: Delivery) => boolean,
  what: string,
): Promise<Delivery> {
  let found: Delivery | undefined;
  await until(async () => {
    const { deliveries } = await events.getEvent({ eventId });
    found = deliveries.find((delivery) => delivery.endpointId === endpointId);
    return found !== undefined && condition(found);
  }, what);
  if (found === undefined) throw new Error('the delivery exists');
  return found;
}
