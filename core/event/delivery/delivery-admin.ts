// Lists and replays deliveries, and tests endpoints.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { HubError } from '../../errors.ts';
import { newUuid } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { type Page, type PageRequest, readScannedPage } from '../../storage/sql/page.ts';
import { findEndpoint } from '../endpoint/endpoint-admin.ts';
import type { EndpointSecrets } from '../endpoint/endpoint-secrets.ts';
import {
  type Delivery,
  DeliverySchema,
  type DeliveryStateName,
  type Endpoint,
  EventSchema,
} from '../entities.ts';
import type { Events } from '../stream/events.ts';
import { sendTimed, signWebhook } from './attempt-delivery.ts';
import { formatPayload, webhookId } from './payload.ts';
import { endOfScan, replayDelivery } from './replay-and-scan.ts';
import type { SendResult, WebhookSender } from './send-webhook.ts';

export type DeliveriesOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly events: Events;
  readonly sender: WebhookSender;
  readonly secrets: EndpointSecrets;
  /** Returns the endpoint as JSON, the data of a test event. */
  readonly showEndpoint: (endpoint: Endpoint) => Promise<Readonly<Record<string, unknown>>>;
  readonly onDue: () => void;
};

export type DeliveryWithType = Delivery & { readonly type: string };

/** A hub has at most 100 endpoints, and an event has one delivery to each. */
const MAX_DELIVERIES = 100;

export function createDeliveries(options: DeliveriesOptions) {
  const { db, events, sender, secrets, showEndpoint, onDue, clock } = options;
  return {
    /** Lists the deliveries of an event. @param eventId UUID */
    async listOfEvent(eventId: string, type: string): Promise<DeliveryWithType[]> {
      const found = await db.em().find(DeliverySchema, { eventId }, { limit: MAX_DELIVERIES });
      return found.map((delivery) => ({ ...delivery, type }));
    },

    /** Lists deliveries, newest event first. @throws HubError `endpoint_unknown`, `page_token_invalid` */
    async list(
      endpointId: string,
      state: DeliveryStateName | undefined,
      request: PageRequest,
    ): Promise<Page<DeliveryWithType>> {
      const em = db.em();
      const endpoint = await findEndpoint(em, endpointId);
      const page = await readScannedPage(request, 'evt', async (after, limit) => {
        // event_delivery_endpoint_idx, or event_delivery_failed_idx
        const isScanned = state === 'pending' || state === 'delivered';
        const end = isScanned ? await endOfScan(db.pool, endpoint.id, after) : undefined;
        const eventId = { ...(after && { $lt: after }), ...(end && { $gte: end }) };
        const found = await em.find(
          DeliverySchema,
          { endpoint, ...(state && { state }), ...((after ?? end) && { eventId }) },
          { orderBy: { eventId: 'desc' }, limit },
        );
        return { found: found.map((delivery) => ({ id: delivery.eventId, delivery })), end };
      });
      const eventIds = page.items.map(({ id }) => id);
      const types = await typesOfEvents(em, eventIds);
      const items = page.items.map(({ id, delivery }) => ({ ...delivery, type: types.get(id) ?? '' }));
      return { ...page, items };
    },

    /**
     * Makes a delivery due again, or creates it.
     * @throws HubError `event_unknown`, `endpoint_unknown`, `endpoint_disabled`
     */
    async replay(eventId: string, endpointId: string, actor: Actor): Promise<DeliveryWithType> {
      const { id, type } = await events.get(eventId);
      const endpoint = await findEndpoint(db.em(), endpointId);
      if (endpoint.disabledAt != null) {
        const message = 'this endpoint is disabled: enable it before the replay';
        throw new HubError('endpoint_disabled', message, { field: 'endpointId' });
      }
      await replayDelivery(db.pool, { eventId: id, endpointId: endpoint.id, actor, clock });
      const delivery = await db.em().findOneOrFail(DeliverySchema, { eventId: id, endpoint });
      onDue();
      return { ...delivery, type };
    },

    /** Sends an `endpoint.test` event once, and does not store it. @throws HubError `endpoint_unknown` */
    async test(endpointId: string): Promise<TestedDelivery> {
      const endpoint = await findEndpoint(db.em(), endpointId);
      const at = clock();
      const eventId = webhookId(newUuid());
      const data = await showEndpoint(endpoint);
      const body = formatPayload({ type: 'endpoint.test', at, number: 0, data });
      const sent = await sendTimed(sender, signWebhook(secrets, { endpoint, eventId, at, body }));
      return { eventId, endpointId, at, ...sent };
    },
  };
}

export type TestedDelivery = {
  readonly eventId: string;
  readonly endpointId: string;
  readonly at: Date;
  readonly durationMs: number;
  readonly result: SendResult;
};

async function typesOfEvents(
  em: EntityManager,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await em.find(EventSchema, { id: { $in: [...ids] } }, { fields: ['type'] });
  return new Map(found.map(({ id, type }) => [id, type]));
}
