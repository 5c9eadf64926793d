import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { type Delivery, DeliveryState } from '../../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { dumpOf } from '../../support/hub/canaries.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { activate, deactivate } from '../../support/network/rest.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { until } from '../../support/until.ts';
import { eventsOf, untilDelivery } from './event-scene.ts';

describe('events', () => {
  let hub: TestHub;
  let events: Client<typeof EventService>;
  let receiver: WebhookReceiver;
  before(async () => {
    hub = await startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } });
    events = createClient(EventService, hub.transport);
  });
  after(() => hub.stop());
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(() => receiver.close());

  const addEndpoint = async (settings: object = {}) => {
    const { endpoint, secret } = await events.createEndpoint({
      settings: { url: receiver.url, events: ['*'], ...settings },
    });
    return { endpointId: endpoint?.endpointId ?? '', secret };
  };
  const untilReceived = (count: number) =>
    until(() => receiver.received.length >= count, `the receiver has ${count} webhooks`);
  const types = () => receiver.received.map(({ event }) => event.type);

  it('are delivered in the order of their changes, with the object as operators see it', async () => {
    const app = await createApp(hub.admin);
    const { endpointId } = await addEndpoint({ apps: [app] });
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { app });
    await activate(hub.gatewayUrl, licenseKey, 'machine');
    await deactivate(hub.gatewayUrl, licenseKey, 'machine');
    await hub.admin.suspendLicense({ licenseId, reason: 'unpaid' });
    await untilReceived(4);
    const inOrder = receiver.received.toSorted((one, other) => one.event.sequence - other.event.sequence);
    expect(inOrder.map(({ event }) => event.type)).to.deep.equal([
      'license.issued',
      'seat.activated',
      'seat.released',
      'license.suspended',
    ]);
    expect(inOrder[0]?.event.data).to.include({ licenseId, app });
    expect(inOrder[0]?.body).to.not.contain(licenseKey);
    expect(inOrder[3]?.event.data).to.include({ state: 'LICENSE_STATE_SUSPENDED', suspendReason: 'unpaid' });
    // The hub records a delivery after the receiver has answered.
    await until(async () => {
      const { deliveries } = await events.listDeliveries({ endpointId });
      expect(deliveries).to.have.length(4);
      return deliveries.every(({ state }) => state === DeliveryState.DELIVERED);
    }, 'all deliveries are recorded');
  });

  it('are listed and shown', async () => {
    const app = await createApp(hub.admin);
    const { licenseId } = await issueLicense(hub.admin, { app });
    let eventId = '';
    await until(async () => {
      const { events: found } = await events.listEvents({ app });
      eventId = found[0]?.eventId ?? '';
      return found.length === 1;
    }, 'the event is listed');
    const { event } = await events.getEvent({ eventId });
    expect(event).to.include({ type: 'license.issued', object: licenseId, app });
    expect(event?.data).to.include({ licenseId });
  });

  it('contain the license key only where an endpoint asks for it', async () => {
    const app = await createApp(hub.admin);
    await addEndpoint({ apps: [app], includeKeys: true });
    const { licenseKey } = await issueLicense(hub.admin, { app });
    await untilReceived(1);
    expect(receiver.received[0]?.event.data).to.include({ licenseKey });
  });

  it('do not contain the key of a later owner', async () => {
    const app = await createApp(hub.admin);
    const { endpointId } = await addEndpoint({ apps: [app], includeKeys: true });
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { app });
    await untilReceived(1);
    await hub.admin.rekeyLicense({ licenseId });
    const [issued] = await eventsOf(events, licenseId, 2);
    await events.replayEvent({ eventId: issued?.eventId ?? '', endpointId });
    await untilReceived(3);
    const bodies = receiver.received.filter(({ event }) => event.type === 'license.issued');
    expect(bodies.map(({ event }) => event.data?.licenseKey)).to.deep.equal([licenseKey, undefined]);
  });

  it('do not store an answer that may repeat the license key', async () => {
    const app = await createApp(hub.admin);
    receiver.answer = ({ body }, response) => void response.writeHead(200).end(body);
    const { endpointId } = await addEndpoint({ apps: [app], includeKeys: true });
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { app });
    const [issued] = await eventsOf(events, licenseId, 1);
    const isDelivered = ({ state }: Delivery) => state === DeliveryState.DELIVERED;
    const of = { eventId: issued?.eventId ?? '', endpointId };
    const delivery = await untilDelivery(events, of, isDelivered, 'the license is delivered');
    expect(delivery).to.include({ responseStatus: 200, responseBody: '' });
    expect(await dumpOf(hub.databaseUrl)).not.to.contain(licenseKey);
  });

  it('are streamed to a token of an app only with that app', async () => {
    const { app: other } = await issueLicense(hub.admin);
    const app = await createApp(hub.admin);
    const tokens = createClient(TokenService, hub.transport);
    const { token } = await tokens.createToken({ name: `shop-${app}`, role: Role.SERVICE, apps: [app] });
    const shop = createClient(EventService, transportTo(hub.rpcUrl, token));
    const watch = async (request: { app?: string }) => {
      for await (const answer of shop.watchEvents(request)) return answer.cursor;
      return undefined;
    };
    expect(await watch({ app })).to.match(/^\d+$/);
    const codeOf = (request: { app?: string }) =>
      watch(request).then(undefined, (error) => ConnectError.from(error).code);
    expect(await codeOf({ app: other })).to.equal(Code.NotFound);
    expect(await codeOf({})).to.equal(Code.PermissionDenied);
  });

  it('continue after a cursor', async () => {
    const app = await createApp(hub.admin);
    const stop = new AbortController();
    const seen: string[] = [];
    let cursor = '';
    for await (const answer of events.watchEvents({ app }, { signal: stop.signal })) {
      if (cursor === '') await issueLicense(hub.admin, { app });
      cursor = answer.cursor;
      if (answer.event) break;
    }
    await issueLicense(hub.admin, { app });
    await issueLicense(hub.admin, { app });
    for await (const answer of events.watchEvents({ app, cursor }, { signal: stop.signal })) {
      if (answer.event) seen.push(answer.event.type);
      if (seen.length === 2) break;
    }
    expect(seen).to.deep.equal(['license.issued', 'license.issued']);
    expect(types()).to.deep.equal([]);
  });

  it('are not delivered to a disabled endpoint', async () => {
    const app = await createApp(hub.admin);
    const { endpointId } = await addEndpoint({ apps: [app] });
    const { endpoint } = await events.disableEndpoint({ endpointId, reason: 'replaced' });
    expect(endpoint?.disabledReason).to.equal('replaced');
    await issueLicense(hub.admin, { app });
    const enabled = await events.enableEndpoint({ endpointId });
    expect(enabled.endpoint?.disabledAt).to.equal(undefined);
    const { licenseId } = await issueLicense(hub.admin, { app });
    await untilReceived(1);
    expect(receiver.received.map(({ event }) => event.data['licenseId'])).to.deep.equal([licenseId]);
  });
});
