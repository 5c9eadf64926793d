import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../core/ids.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { type Delivery, DeliveryState } from '../../../gen/hub/event/v1/event_pb.ts';
import { type Canaries, createCanaries, dumpOf } from '../../support/hub/canaries.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  type Payments,
  payQuietly,
  SLOTS,
  startPayments,
} from '../../support/hub/payment.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { query, waitsForLock, withClient } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import {
  addEndpoint,
  type EventClient,
  eventClient,
  eventsOf,
  RECEIVER_SETTINGS,
  untilDelivery,
} from './event-scene.ts';

describe('the events of an erased customer', () => {
  let payments: Payments;
  let events: EventClient;
  let receiver: WebhookReceiver;
  let canaries: Canaries;
  before(async () => {
    payments = await startPayments({ settings: RECEIVER_SETTINGS });
    events = eventClient(payments.hub);
  });
  after(() => payments.stop());
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
    canaries = createCanaries();
  });
  afterEach(() => receiver.close());

  const createCustomer = async (): Promise<{ customerId: string; email: string; name: string }> => {
    const [name, email] = [canaries.make(), `${canaries.make()}@example.com`];
    const metadata = { note: canaries.make() };
    const customers = createClient(CustomerService, payments.hub.transport);
    const { customer } = await customers.createCustomer({ name, email, metadata });
    return { customerId: customer?.customerId ?? '', email, name };
  };
  const erase = (customerId: string, hub: TestHub = payments.hub) =>
    createClient(CustomerService, hub.transport).eraseCustomer({ customerId });
  const personalValues = async () => canaries.found(await dumpOf(payments.hub.databaseUrl));

  /** A paid session of the customer, with a callback that the hub has given up. */
  const payWith = async (email: string): Promise<{ sessionId: string; callbackId: string }> => {
    const { session } = await payments.sessions.createChargeSession({
      slot: SLOTS.gateway_one,
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
      customer: { name: canaries.make(), email },
      metadata: { gift: canaries.make() },
      idempotencyKey: `pay ${Math.random()}`,
    });
    if (session === undefined) throw new Error('no session was created');
    const { sessionId } = session;
    const proof = payQuietly(payments, session);
    const fields = { ...callbackFields(session, 'paid', proof), cus_name: canaries.make() };
    await callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
    await eventsOf(events, sessionId, 1);
    const { callbacks } = await payments.admin.listCallbacks({ sessionId });
    const callbackId = callbacks[0]?.callbackId ?? '';
    // A callback that the hub gives up after hours.
    await query(
      payments.hub.databaseUrl,
      `insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
       select 'callback.dead', array[b.id], array[null::uuid], array[s.slot_id], now() from callback b join charge_session s on s.id = b.session_id
       order by b.id desc limit 1`,
    );
    await eventsOf(events, callbackId, 1);
    return { sessionId, callbackId };
  };

  it('contain none of the erased values, nor do the answers to them', async () => {
    receiver.answer = ({ body }, response) => void response.writeHead(200).end(body);
    await addEndpoint(events, receiver.url);
    const { customerId, email } = await createCustomer();
    await issueLicense(payments.hub.admin, { customer: customerId });
    await payWith(email);
    await until(() => receiver.received.length >= 4, 'the endpoint has received the events');
    await until(
      async () =>
        (await query(payments.hub.databaseUrl, `select from event_delivery where state = 'pending'`))
          .length === 0,
      'the answers are stored',
    );
    expect(canaries.found(receiver.received.map(({ body }) => body).join())).to.have.length.above(4);
    expect(await personalValues()).to.have.length.above(4);
    await erase(customerId);
    expect(await personalValues()).to.deep.equal([]);
  });

  it('show the erased object in deliveries that were pending', async () => {
    receiver.answer = () => 500;
    const { endpointId } = await addEndpoint(events, receiver.url, { events: ['customer.created'] });
    const { customerId } = await createCustomer();
    const [created] = await eventsOf(events, customerId, 1);
    const eventId = created?.eventId ?? '';
    await until(async () => {
      const { deliveries } = await events.getEvent({ eventId });
      return deliveries.some((delivery) => delivery.endpointId === endpointId && delivery.attempts === 1);
    }, 'the first attempt failed');
    expect(canaries.found(receiver.received[0]?.body ?? '')).not.to.deep.equal([]);
    await erase(customerId);
    receiver.answer = () => 204;
    await events.replayEvent({ eventId, endpointId });
    await until(async () => {
      const { deliveries } = await events.getEvent({ eventId });
      return deliveries.some(({ state }) => state === DeliveryState.DELIVERED);
    }, 'the event is delivered');
    const last = receiver.received.at(-1);
    expect(last?.event).to.deep.include({ type: 'customer.created', sequence: Number(created?.sequence) });
    expect(last?.event.data).to.include({ customerId, name: '' });
    expect(last?.event.data['erasedAt']).to.be.a('string');
    expect(canaries.found(last?.body ?? '')).to.deep.equal([]);
  });

  it('are not sent from a claim that a hub made before the erasure', async () => {
    const answers: (() => void)[] = [];
    receiver.answer = (_request, response) => void answers.push(() => response.writeHead(204).end());
    const { endpointId } = await addEndpoint(events, receiver.url, { events: ['customer.*'] });
    const { databaseUrl } = payments.hub;
    const customers = createClient(CustomerService, payments.hub.transport);
    // The hub numbers and claims all of them at once, and attempts a part at a time.
    const blocker = new pg.Client({ connectionString: databaseUrl });
    await blocker.connect();
    let customerId = '';
    try {
      await blocker.query(`begin; select from hub_lock where name = 'event_counter' for update`);
      for (let n = 0; n < 20; n++) await customers.createCustomer({ name: `other ${n}` });
      ({ customerId } = await createCustomer());
      await blocker.query('commit');
    } finally {
      await blocker.end();
    }
    await until(() => answers.length >= 16, 'as many deliveries as may are in progress');
    const claimed = await query(
      databaseUrl,
      `select d.attempts from event_delivery d join event e on e.id = d.event_id
       where d.state = 'pending' and d.next_attempt_at > now() + interval '30 seconds' and e.object_id = $1`,
      [parseId('cus', customerId)],
    );
    expect(claimed, 'the delivery is claimed').to.deep.equal([{ attempts: 0 }]);
    await erase(customerId);
    receiver.answer = () => 204;
    for (const answer of answers) answer();
    const [, erased] = await eventsOf(events, customerId, 2);
    const isDelivered = ({ state }: Delivery) => state === DeliveryState.DELIVERED;
    await untilDelivery(
      events,
      { eventId: erased?.eventId ?? '', endpointId },
      isDelivered,
      'it is delivered',
    );
    expect(canaries.found(receiver.received.map(({ body }) => body).join())).to.deep.equal([]);
    expect(receiver.received.filter(({ event }) => event.data['customerId'] === customerId)).to.have.length(
      1,
    );
  });

  it('contain none of the erased values if an endpoint answers after the erasure', async () => {
    const answers: (() => void)[] = [];
    receiver.answer = ({ body }, response) => void answers.push(() => response.writeHead(200).end(body));
    const { endpointId } = await addEndpoint(events, receiver.url, { events: ['customer.created'] });
    const { customerId } = await createCustomer();
    await until(() => answers.length === 1, 'the endpoint has received the event');
    await erase(customerId);
    receiver.answer = () => 204;
    answers[0]?.();
    const { customerId: later } = await createCustomer();
    const [created] = await eventsOf(events, later, 1);
    const of = { eventId: created?.eventId ?? '', endpointId };
    const isDelivered = ({ state }: Delivery) => state === DeliveryState.DELIVERED;
    await untilDelivery(events, of, isDelivered, 'a later event is delivered');
    await erase(later);
    expect(await personalValues()).to.deep.equal([]);
  });

  it('get their numbers while the erasure waits for a session, and contain none of the erased values', async () => {
    const { databaseUrl } = payments.hub;
    await addEndpoint(events, receiver.url);
    const { customerId, email } = await createCustomer();
    const { sessionId } = await payWith(email);
    await withClient(databaseUrl, async (client) => {
      const ofSession = [parseId('chs', sessionId)];
      await client.query('begin');
      await client.query('select from charge_session where id = $1 for update', ofSession);
      let isErased = false;
      const erasing = erase(customerId).finally(() => {
        isErased = true;
      });
      erasing.catch(() => {}); // handled below
      await until(
        () => waitsForLock(databaseUrl, `lower(customer->>'email')`),
        'the erasure waits for the session',
      );
      // Their objects still contain the values.
      for (const [type, object] of [
        ['customer.updated', parseId('cus', customerId)],
        ['session.reopened', ofSession[0]],
      ]) {
        await query(
          databaseUrl,
          `insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
           values ($1, array[$2::uuid], '{null}', '{null}', now())`,
          [type, object],
        );
      }
      const { licenseId } = await issueLicense(payments.hub.admin);
      await eventsOf(events, licenseId, 1);
      await eventsOf(events, customerId, 2);
      expect(isErased).to.equal(false);
      await client.query('rollback');
      await erasing;
    });
    expect(await personalValues()).to.deep.equal([]);
  });

  it('contain none of the erased values if the sequencer numbers them during the erasure', async () => {
    const { databaseUrl } = payments.hub;
    const beside = await startHub({ beside: payments.hub, settings: RECEIVER_SETTINGS });
    await addEndpoint(events, receiver.url);
    const blocker = new pg.Client({ connectionString: databaseUrl });
    await blocker.connect();
    try {
      // The sequencer has read and stored the customer, and cannot commit.
      await blocker.query('begin; lock table event_delivery in share mode');
      const { customerId } = await createCustomer();
      await until(() => waitsForLock(databaseUrl, 'insert into event_delivery'), 'the sequencer waits');
      let isErased = false;
      // The hub that numbers waits for itself, and the other one for the lock.
      const erasing = Promise.all([payments.hub, beside].map((hub) => erase(customerId, hub))).then(() => {
        isErased = true;
      });
      await until(
        async () => isErased || (await waitsForLock(databaseUrl, 'hub_lock')),
        'the customer is erased, or waits for the sequencer',
      );
      await blocker.query('rollback');
      await erasing;
      await eventsOf(events, customerId, 2);
      expect(await personalValues()).to.deep.equal([]);
    } finally {
      await blocker.end();
      await beside.stop();
    }
  });
});
