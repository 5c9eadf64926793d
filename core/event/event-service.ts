// EventService: lists and streams events, and manages endpoints.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type {
  EventService,
  EndpointSettings as SettingsMessage,
} from '../../gen/hub/event/v1/event_service_pb.ts';
import { DELIVERY_STATES, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf, scopeOf } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import type { createDeliveries } from './delivery/delivery-admin.ts';
import type { EndpointSettings } from './endpoint/check-endpoint-settings.ts';
import type { Endpoints } from './endpoint/endpoint-admin.ts';
import type { ReadScopeNames } from './endpoint/scope-names.ts';
import type { Endpoint } from './entities.ts';
import { deliveryToProto, endpointToProto, eventToProto, testToProto } from './messages.ts';
import type { Events } from './stream/events.ts';
import type { WatchEvents } from './stream/watch-events.ts';

export type EventServiceOptions = {
  readonly endpoints: Endpoints;
  readonly deliveries: ReturnType<typeof createDeliveries>;
  readonly events: Events;
  readonly watchEvents: WatchEvents;
  readonly readScopeNames: ReadScopeNames;
  readonly clock: Clock;
};

export function createEventService(options: EventServiceOptions): ServiceImpl<typeof EventService> {
  const { endpoints, deliveries, events, watchEvents, readScopeNames, clock } = options;
  const show = async (endpoint: Endpoint) => ({
    endpoint: endpointToProto(endpoint, await readScopeNames([endpoint])),
  });

  return {
    async createEndpoint({ settings }, context) {
      const { endpoint, secret } = await endpoints.create(settingsOf(settings), actorOf(context));
      return { ...(await show(endpoint)), secret: secret.reveal() };
    },

    async getEndpoint({ endpointId }) {
      return show(await endpoints.get(endpointId));
    },

    async listEndpoints() {
      const found = await endpoints.list();
      const names = await readScopeNames(found);
      return { endpoints: found.map((endpoint) => endpointToProto(endpoint, names)) };
    },

    async updateEndpoint({ endpointId, settings }, context) {
      return show(await endpoints.update(endpointId, settingsOf(settings), actorOf(context)));
    },

    async disableEndpoint({ endpointId, reason }, context) {
      return show(await endpoints.disable(endpointId, reason, actorOf(context)));
    },

    async enableEndpoint({ endpointId }, context) {
      return show(await endpoints.enable(endpointId, actorOf(context)));
    },

    async removeEndpoint({ endpointId }, context) {
      await endpoints.remove(endpointId, actorOf(context));
      return {};
    },

    async rotateEndpointSecret({ endpointId, keepHours }, context) {
      const { endpoint, secret } = await endpoints.rotateSecret(endpointId, keepHours, actorOf(context));
      return { ...(await show(endpoint)), secret: secret.reveal() };
    },

    async testEndpoint({ endpointId }) {
      return { delivery: testToProto(await deliveries.test(endpointId)) };
    },

    async listEvents(request, context) {
      const filter = { ...request, scope: scopeOf(context) };
      const { items, nextPageToken } = await events.list(filter, request);
      return { events: items.map(eventToProto), nextPageToken };
    },

    async getEvent({ eventId }) {
      const event = await events.get(eventId);
      const [shown = event] = await events.withData([event]);
      const found = await deliveries.listOfEvent(event.id, event.type);
      return { event: eventToProto(shown), deliveries: found.map(deliveryToProto) };
    },

    async listDeliveries(request) {
      const state = nameOf(DELIVERY_STATES, request.state);
      const { items, nextPageToken } = await deliveries.list(request.endpointId, state, request);
      return { deliveries: items.map(deliveryToProto), nextPageToken };
    },

    async replayEvent({ eventId, endpointId }, context) {
      return { delivery: deliveryToProto(await deliveries.replay(eventId, endpointId, actorOf(context))) };
    },

    async *watchEvents(request, context) {
      const filter = { ...request, scope: scopeOf(context) };
      for await (const { cursor, event } of watchEvents(filter, context.signal)) {
        yield { cursor, ...(event && { event: eventToProto(event) }), sentAt: timestampFromDate(clock()) };
      }
    },
  };
}

/** @throws Error without settings, which the validation of requests refuses before */
function settingsOf(settings: SettingsMessage | undefined): EndpointSettings {
  if (settings === undefined) throw new Error('the request has no settings');
  return settings;
}
