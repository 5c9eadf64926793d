// Makes a hub deliver, list, stream and replay events, and change endpoints.
import type { ServerResponse } from 'node:http';
import { type Client, createClient } from '@connectrpc/connect';
import { formatId, parseId } from '../../../core/ids.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { DeliveryState } from '../../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { fetchMetrics } from '../../support/hub/metrics.ts';
import type { Payments } from '../../support/hub/payment.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import {
  FLEET,
  issuedEventAt,
  licenseAt,
  type Population,
  QUEUED_ENDPOINT,
  SERVED_ENDPOINT,
} from './population.ts';
import { takeFirst } from './take-first.ts';

const APP = 'scale';

export async function driveEvents(payments: Payments, population: Population, times: number): Promise<void> {
  const receiver = await startWebhookReceiver();
  try {
    await driveEndpoints(payments, receiver, times);
  } finally {
    await receiver.close();
  }
  await driveEventLists(payments, population, times);
}

/** Delivers to an endpoint that is changed meanwhile. */
async function driveEndpoints({ hub }: Payments, receiver: WebhookReceiver, times: number): Promise<void> {
  const events = createClient(EventService, hub.transport);
  const settings = { url: receiver.url, events: ['license.*', 'customer.*'], apps: [] };
  const { endpoint } = await events.createEndpoint({ settings });
  const endpointId = endpoint?.endpointId ?? '';
  const customers = createClient(CustomerService, hub.transport);
  for (let turn = 0; turn < times; turn++) {
    const before = receiver.received.length;
    receiver.answer = turn % 2 === 0 ? () => 204 : () => 500;
    const { licenses } = await hub.admin.issueLicenses({ app: APP, seatLimit: 1, count: 10 });
    await until(() => receiver.received.length >= before + licenses.length, 'the licenses are announced');
    const { customer } = await customers.createCustomer({
      name: 'driven',
      email: `driven-${turn}@example.com`,
    });
    await until(async () => {
      const { events: found } = await events.listEvents({ object: customer?.customerId ?? '' });
      for (const { eventId } of found) await events.replayEvent({ eventId, endpointId });
      return found.length > 0;
    }, 'the customer has an event');
    await events.updateEndpoint({ endpointId, settings: { ...settings, apps: turn % 2 === 0 ? [APP] : [] } });
    await events.rotateEndpointSecret({ endpointId });
    await events.testEndpoint({ endpointId });
    await events.getEndpoint({ endpointId });
    await customers.eraseCustomer({ customerId: customer?.customerId ?? '' });
    await events.disableEndpoint({ endpointId, reason: 'driven' });
    await events.enableEndpoint({ endpointId });
  }
  await events.removeEndpoint({ endpointId });
  await driveHanging(events, hub, receiver);
}

/** More events than a hub sends at once, to an endpoint that hangs and is disabled: the hub reads it again. */
async function driveHanging(
  events: Client<typeof EventService>,
  hub: Payments['hub'],
  receiver: WebhookReceiver,
): Promise<void> {
  const { endpoint } = await events.createEndpoint({
    settings: { url: receiver.url, events: ['license.issued'] },
  });
  const endpointId = endpoint?.endpointId ?? '';
  const hanging: ServerResponse[] = [];
  receiver.answer = (_, response) => {
    hanging.push(response);
    return undefined;
  };
  await hub.admin.issueLicenses({ app: APP, seatLimit: 1, count: 40 });
  await until(() => hanging.length === 16, 'the first are sent');
  const begun = performance.now();
  await events.disableEndpoint({ endpointId, reason: 'driven' });
  await until(
    () => performance.now() - begun > 1_000,
    'the hub does not rely on the endpoint that it has read',
  );
  for (const response of hanging) response.writeHead(204).end();
  const waiting = `select from event_delivery where endpoint_id = $1 and state = 'pending' and next_attempt_at <= now()`;
  const values = [parseId('whe', endpointId)];
  await until(
    async () => (await query(hub.databaseUrl, waiting, values)).length >= 24,
    'the claims of the others are released',
  );
  await events.removeEndpoint({ endpointId });
}

async function driveEventLists({ hub }: Payments, population: Population, times: number): Promise<void> {
  const events = createClient(EventService, hub.transport);
  const licenseId = formatId('lic', licenseAt(population, FLEET.license).id);
  for (const filter of [
    {},
    { types: ['license.*'] },
    { types: ['callback.dead'] },
    { object: licenseId },
    { app: APP },
    { slot: 'scale-one' },
    { app: APP, types: ['endpoint.disabled'] },
  ]) {
    const { nextPageToken } = await events.listEvents(filter);
    if (nextPageToken !== '') await events.listEvents({ ...filter, pageToken: nextPageToken });
  }
  for (const endpoint of [QUEUED_ENDPOINT, SERVED_ENDPOINT]) {
    const endpointId = formatId('whe', endpoint);
    for (const state of [
      DeliveryState.UNSPECIFIED,
      DeliveryState.PENDING,
      DeliveryState.DELIVERED,
      DeliveryState.FAILED,
    ]) {
      const { nextPageToken } = await events.listDeliveries({ endpointId, state });
      if (nextPageToken !== '') await events.listDeliveries({ endpointId, state, pageToken: nextPageToken });
    }
  }
  const middle = Math.floor(population.licenses / 2);
  for (let turn = 0; turn < times; turn++) {
    await events.getEvent({ eventId: formatId('evt', issuedEventAt(population, middle + turn)) });
    const cursor = String(middle + turn);
    await takeFirst((options) => events.watchEvents({ cursor }, options));
  }
  await fetchMetrics(hub);
}
