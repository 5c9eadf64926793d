import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { DeliveryState } from '../../../../gen/hub/event/v1/event_pb.ts';
import { discard, makeDataDir } from '../../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { scrape } from '../../../support/hub/metrics.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../../support/network/webhook-receiver.ts';
import { createMigratedDatabase, query, withClient } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import {
  addEndpoint,
  type EventClient,
  eventClient,
  eventsOf,
  RECEIVER_SETTINGS,
  untilDelivery,
} from '../event-scene.ts';

const HOUR_MS = 3_600_000;
/** The duration of a claim. */
const CLAIM_MS = 120_000;

describe('deliveries', () => {
  let hub: TestHub;
  let events: EventClient;
  let receiver: WebhookReceiver;
  let other: WebhookReceiver;
  let app: string;
  let aheadMs = 0;
  const log: string[] = [];
  const clock = () => new Date(Date.now() + aheadMs);
  before(async () => {
    const sink = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk));
        done();
      },
    });
    hub = await startHub({ settings: RECEIVER_SETTINGS, clock, log: sink });
    events = eventClient(hub);
  });
  after(() => hub.stop());
  beforeEach(async () => {
    aheadMs = 0;
    [receiver, other] = await Promise.all([startWebhookReceiver(), startWebhookReceiver()]);
    app = await createApp(hub.admin);
  });
  afterEach(async () => {
    const { endpoints } = await events.listEndpoints({});
    for (const { endpointId } of endpoints) await events.removeEndpoint({ endpointId });
    await Promise.all([receiver.close(), other.close()]);
  });

  /** An endpoint for licenses of the app. */
  const addForApp = (at = receiver) => addEndpoint(events, at.url, { events: ['license.*'], apps: [app] });
  const issue = async (): Promise<string> => {
    const { licenseId } = await issueLicense(hub.admin, { app });
    const [issued] = await eventsOf(events, licenseId, 1);
    return issued?.eventId ?? '';
  };
  const issueMany = (count: number) => hub.admin.issueLicenses({ app, seatLimit: 1, count });
  const untilReceived = (count: number, by = receiver) =>
    until(() => by.received.length >= count, `the receiver has ${count} webhooks, not ${by.received.length}`);
  const afterAttempts = (
    count: number,
    delivery: { readonly eventId: string; readonly endpointId: string },
  ) => untilDelivery(events, delivery, ({ attempts }) => attempts === count, `attempt ${count} is recorded`);
  /** Any new event makes the hub look for due deliveries at once. */
  const wake = () => createClient(CustomerService, hub.transport).createCustomer({ name: 'wake' });
  /** Answers nothing until it is released. */
  const hang = (at = receiver) => {
    const open: ServerResponse[] = [];
    at.answer = (_, response) => {
      open.push(response);
      return undefined;
    };
    return {
      release(status: number) {
        at.answer = () => 204;
        for (const response of open) response.writeHead(status).end();
      },
    };
  };

  it('that fail are retried with the same id, and counted', async () => {
    const { endpointId } = await addForApp();
    receiver.answer = () => 500;
    const eventId = await issue();
    const failed = await afterAttempts(1, { eventId, endpointId });
    expect(failed).to.include({ state: DeliveryState.PENDING, responseStatus: 500 });
    expect(failed.problem).to.equal('the endpoint answered with status 500');
    const { endpoint } = await events.getEndpoint({ endpointId });
    expect(endpoint?.failingSince).not.to.equal(undefined);
    receiver.answer = () => 200;
    aheadMs = 7_000;
    await wake();
    const delivered = await untilDelivery(
      events,
      { eventId, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the second attempt succeeds',
    );
    expect(delivered).to.include({ attempts: 2, responseStatus: 200, problem: '' });
    expect(delivered.nextAttemptAt).to.equal(undefined);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).to.deep.equal(
      new Set([eventId]),
    );
    expect((await events.getEndpoint({ endpointId })).endpoint?.failingSince).to.equal(undefined);
  });

  it('wait for the Retry-After of the endpoint', async () => {
    const { endpointId } = await addForApp();
    receiver.answer = (_, response) => {
      response.setHeader('retry-after', '3600');
      return 503;
    };
    const eventId = await issue();
    const { nextAttemptAt, lastAttemptAt } = await afterAttempts(1, { eventId, endpointId });
    expect(Number((nextAttemptAt?.seconds ?? 0n) - (lastAttemptAt?.seconds ?? 0n))).to.be.within(
      3_600,
      4_321,
    );
  });

  it('fail after ten attempts over three days, which disables the endpoint, and start again by a replay', async () => {
    const { endpointId } = await addForApp();
    await addEndpoint(events, other.url, { events: ['endpoint.*'] });
    receiver.answer = () => 500;
    const eventId = await issue();
    for (let attempt = 1; attempt <= 10; attempt++) {
      const delivery = await untilDelivery(
        events,
        { eventId, endpointId },
        ({ attempts }) => attempts === attempt,
        `attempt ${attempt} is recorded`,
      );
      const isLast = attempt === 10;
      expect(delivery.state).to.equal(isLast ? DeliveryState.FAILED : DeliveryState.PENDING);
      expect(delivery.nextAttemptAt === undefined).to.equal(isLast);
      if (isLast) break;
      aheadMs = Number(delivery.nextAttemptAt?.seconds) * 1_000 + 1_000 - Date.now();
      await wake();
    }
    expect(aheadMs).to.be.within(75 * HOUR_MS, 92 * HOUR_MS);
    await until(async () => {
      const { endpoint } = await events.getEndpoint({ endpointId });
      return endpoint?.disabledReason.startsWith('all deliveries have failed since ') === true;
    }, 'the endpoint is disabled');
    await untilReceived(1, other);
    expect(other.received[0]?.event).to.include({ type: 'endpoint.disabled' });
    expect(other.received[0]?.event.data).to.include({ endpointId });
    expect(receiver.received).to.have.length(10);

    receiver.answer = () => 204;
    await events.enableEndpoint({ endpointId });
    const { delivery } = await events.replayEvent({ eventId, endpointId });
    expect(delivery).to.include({ state: DeliveryState.PENDING, attempts: 0 });
    const replayed = await untilDelivery(
      events,
      { eventId, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the replay is delivered',
    );
    expect(replayed.attempts).to.equal(1);
  });

  it('that are answered with 410 disable the endpoint once, and continue when it is enabled', async () => {
    const { endpointId } = await addForApp();
    await addEndpoint(events, other.url, { events: ['endpoint.*'] });
    receiver.answer = () => 410;
    await issueMany(40);
    await untilReceived(1, other);
    expect(other.received[0]?.event.data).to.include({
      endpointId,
      disabledReason: 'the endpoint answered with status 410 (gone)',
    });
    const tried = receiver.received.length;
    expect(tried).to.be.at.most(16);
    receiver.answer = () => 204;
    await events.enableEndpoint({ endpointId });
    aheadMs = 7_000;
    await until(
      () => new Set(receiver.received.slice(tried).map(({ headers }) => headers['webhook-id'])).size === 40,
      'all are delivered',
    );
    expect(other.received).to.have.length(1);
  });

  it('tell other endpoints of a disabled one without the query of its URL', async () => {
    const { endpointId } = await addEndpoint(events, `${receiver.url}?key=3f9c`, { events: ['license.*'] });
    await addEndpoint(events, other.url, { events: ['endpoint.*'] });
    await events.disableEndpoint({ endpointId, reason: 'test' });
    await untilReceived(1, other);
    expect(other.received[0]?.event.data).to.include({ endpointId, url: `${receiver.url}?…` });
    expect((await events.getEndpoint({ endpointId })).endpoint?.url).to.equal(`${receiver.url}?key=3f9c`);
  });

  it('that fail for three days do not disable an endpoint that answers others', async () => {
    const { endpointId } = await addForApp();
    receiver.answer = () => 500;
    const [good, bad] = [await issue(), await issue()];
    for (const eventId of [good, bad]) {
      await afterAttempts(1, { eventId, endpointId });
    }
    let release = (): void => {};
    receiver.answer = ({ headers }, response) => {
      if (headers['webhook-id'] === good) return 204;
      release = () => response.writeHead(500).end();
      return undefined;
    };
    aheadMs = 80 * HOUR_MS;
    await wake();
    await untilDelivery(
      events,
      { eventId: good, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'one is delivered',
    );
    await until(() => receiver.received.length === 4, 'the other one is tried');
    release();
    await untilDelivery(
      events,
      { eventId: bad, endpointId },
      ({ attempts }) => attempts === 2,
      'the other one failed again',
    );
    // A change runs after the one that would have disabled it.
    await addForApp(other);
    expect((await events.getEndpoint({ endpointId })).endpoint?.disabledReason).to.equal('');
  });

  it('to an endpoint that hangs do not delay those to another', async () => {
    const hanging = hang();
    await addForApp();
    await addForApp(other);
    await issueMany(70);
    await untilReceived(70, other);
    expect(receiver.received.length).to.be.at.most(16);
    hanging.release(204);
  });

  it('to an endpoint that hangs do not delay those to another with the same host and port', async () => {
    const at = (path: string) => receiver.received.filter((webhook) => webhook.path === path);
    const open: ServerResponse[] = [];
    receiver.answer = ({ path }, response) => {
      if (path === '/other') return 204;
      open.push(response);
      return undefined;
    };
    await addForApp();
    await addEndpoint(events, new URL('/other', receiver.url).href, { events: ['license.*'], apps: [app] });
    await issueMany(70);
    await until(() => at('/other').length === 70, 'the other endpoint has all');
    expect(at('/hook').length).to.be.at.most(16);
    for (const response of open) response.writeHead(204).end();
  });

  it('stop when their endpoint is disabled, and use its new URL when it is changed', async () => {
    const hanging = hang();
    const { endpointId } = await addForApp();
    await issueMany(40);
    await untilReceived(16);
    await events.disableEndpoint({ endpointId, reason: 'test' });
    // Attempts may begin for a second after the change.
    const at = performance.now();
    await until(() => performance.now() - at > 1_000, 'a second has passed');
    hanging.release(204);
    await until(
      async () => (await unclaimed(hub, endpointId)) === 24,
      'the claims of the others are released',
    );
    expect(receiver.received).to.have.length(16);
    const settings = { url: other.url, events: ['license.*'], apps: [app] };
    await events.updateEndpoint({ endpointId, settings });
    await events.enableEndpoint({ endpointId });
    await untilReceived(24, other);
    expect(receiver.received).to.have.length(16);
    expect(other.received).to.have.length(24);
  });

  it('that a stopping hub aborts do not count, and another hub attempts them at once', async () => {
    const shared = { dataDir: await makeDataDir(), databaseUrl: await createMigratedDatabase() };
    const first = await startHub({ settings: RECEIVER_SETTINGS, beside: shared });
    hang();
    const { endpointId } = await addEndpoint(eventClient(first), receiver.url, { events: ['license.*'] });
    await first.admin.issueLicenses({ app: await createApp(first.admin), seatLimit: 1, count: 6 });
    await untilReceived(6);
    const second = await startHub({ settings: RECEIVER_SETTINGS, beside: shared });
    receiver.answer = () => 204;
    await first.stop();
    await untilReceived(12);
    await until(async () => {
      const { deliveries } = await eventClient(second).listDeliveries({ endpointId });
      return deliveries.every(({ state, attempts }) => state === DeliveryState.DELIVERED && attempts === 1);
    }, 'all are delivered by one attempt that counts');
    await second.stop();
    await discard(shared.dataDir);
  });

  it('of a killed hub are attempted by another when its claims end, and a late result does not count', async () => {
    const hanging = hang();
    const { endpointId } = await addForApp();
    const eventId = await issue();
    await untilReceived(1); // from now on, the hub does nothing, like a killed one
    receiver.answer = () => 204;
    const beside = await startHub({
      settings: RECEIVER_SETTINGS,
      clock: () => new Date(Date.now() + CLAIM_MS + 1_000),
      beside: hub,
    });
    await untilDelivery(
      eventClient(beside),
      { eventId, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the other hub delivers it',
    );
    await beside.stop();
    hanging.release(500);
    const next = await issue();
    await untilDelivery(
      events,
      { eventId: next, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the hub has finished the first attempt and made the next',
    );
    const { deliveries } = await events.getEvent({ eventId });
    expect(deliveries[0]).to.include({ state: DeliveryState.DELIVERED, attempts: 1 });
  });

  it('that are replayed during an attempt are attempted again', async () => {
    const hanging = hang();
    const { endpointId } = await addForApp();
    const eventId = await issue();
    await untilReceived(1);
    await events.replayEvent({ eventId, endpointId });
    hanging.release(500);
    const { attempts } = await untilDelivery(
      events,
      { eventId, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the replay is delivered',
    );
    expect(attempts).to.equal(1);
    expect(receiver.received).to.have.length(2);
  });

  it('that the hub cannot build fail, and do not delay others', async () => {
    const settings = { events: ['license.*'], apps: [app], includeKeys: true };
    const { endpointId } = await addEndpoint(events, receiver.url, settings);
    const [broken, whole] = await withClient(hub.databaseUrl, async (client) => {
      // The hub numbers and claims both at once.
      await client.query(`begin; select from hub_lock where name = 'event_counter' for update`);
      const issued = [
        await issueLicense(hub.admin, { app }),
        await issueLicense(hub.admin, { app }),
      ] as const;
      const brokenId = parseId('lic', issued[0].licenseId);
      await client.query('update license set key_hash = sha256(key_hash) where id = $1', [brokenId]);
      await client.query('commit');
      return issued;
    });
    const [[unbuilt], [built]] = [
      await eventsOf(events, broken.licenseId, 1),
      await eventsOf(events, whole.licenseId, 1),
    ];
    await untilDelivery(
      events,
      { eventId: built?.eventId ?? '', endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'the other one is delivered',
    );
    const failed = await untilDelivery(
      events,
      { eventId: unbuilt?.eventId ?? '', endpointId },
      ({ attempts }) => attempts === 1,
      'the failure is recorded',
    );
    expect(failed).to.include({
      state: DeliveryState.PENDING,
      problem: 'the hub cannot build the delivery: its log says why',
    });
    const dueMs =
      Number(failed.nextAttemptAt?.seconds) * 1_000 - Number(failed.lastAttemptAt?.seconds) * 1_000;
    expect(dueMs).to.be.within(4_000, 8_000);
    expect(receiver.received.map(({ event }) => event.data['licenseKey'])).to.deep.equal([whole.licenseKey]);
    const errors = log.filter((line) => line.includes('cannot build a delivery'));
    expect(errors).to.have.length(1);
    expect(JSON.parse(errors[0] ?? '{}')).to.include({ level: 50, eventId: unbuilt?.eventId, endpointId });
    expect(errors[0]).to.contain('is not that of its key');
  });

  it('that the hub cannot sign fail, and do not disable their endpoint', async () => {
    const { endpointId } = await addForApp();
    receiver.answer = () => 500;
    const eventId = await issue();
    await afterAttempts(1, { eventId, endpointId });
    expect((await events.getEndpoint({ endpointId })).endpoint?.failingSince).not.to.equal(undefined);
    await invertSecret(hub, endpointId);
    aheadMs = 80 * HOUR_MS;
    await wake();
    const failed = await afterAttempts(2, { eventId, endpointId });
    expect(failed.problem).to.equal('the hub cannot build the delivery: its log says why');
    // A change runs after the one that would have disabled it.
    await addForApp(other);
    expect((await events.getEndpoint({ endpointId })).endpoint?.disabledReason).to.equal('');
    expect(receiver.received).to.have.length(1);
  });

  it('that the hub cannot sign do not begin the three days that disable their endpoint', async () => {
    const { endpointId } = await addForApp();
    await invertSecret(hub, endpointId);
    const eventId = await issue();
    const unsigned = await afterAttempts(1, { eventId, endpointId });
    expect(unsigned.problem).to.equal('the hub cannot build the delivery: its log says why');
    expect((await events.getEndpoint({ endpointId })).endpoint?.failingSince).to.equal(undefined);
    expect(receiver.received).to.deep.equal([]);
    await invertSecret(hub, endpointId);
    receiver.answer = () => 503;
    aheadMs = 80 * HOUR_MS;
    await wake();
    const failed = await afterAttempts(2, { eventId, endpointId });
    expect(failed.responseStatus).to.equal(503);
    // A change runs after the one that would have disabled it.
    await addForApp(other);
    const { endpoint } = await events.getEndpoint({ endpointId });
    expect(endpoint?.disabledReason).to.equal('');
    expect(endpoint?.failingSince).to.deep.equal(failed.lastAttemptAt);
  });

  it('are not counted while the database is unavailable', async () => {
    const settings = { events: ['license.*'], apps: [app], includeKeys: true };
    const { endpointId } = await addEndpoint(events, receiver.url, settings);
    receiver.answer = () => 500;
    const eventId = await issue();
    await afterAttempts(1, { eventId, endpointId });
    receiver.answer = () => 204;
    const failures = async (): Promise<number> =>
      (await scrape(hub)).sum('hub_task_failures_total', { task: 'event_deliveries' });
    const before = await failures();
    await withClient(hub.databaseUrl, async (client) => {
      // The hub reads the license to derive its key.
      await client.query('begin; lock table license in access exclusive mode');
      aheadMs = 7_000;
      const cancelled = new Set<string>();
      await until(async () => {
        for (const read of await cancelReads(hub, 'select "l0".%')) cancelled.add(read);
        return cancelled.size >= 2;
      }, 'the hub has tried to read the license twice');
      await client.query('rollback');
    });
    const delivered = await untilDelivery(
      events,
      { eventId, endpointId },
      ({ state }) => state === DeliveryState.DELIVERED,
      'it is delivered',
    );
    expect(delivered.attempts).to.equal(2);
    expect((await failures()) - before).to.be.at.least(1);
  });

  it('are not sent to a removed endpoint', async () => {
    receiver.answer = () => 500;
    const { endpointId } = await addForApp();
    const eventId = await issue();
    await afterAttempts(1, { eventId, endpointId });
    await events.removeEndpoint({ endpointId });
    expect((await events.getEvent({ eventId })).deliveries).to.deep.equal([]);
    const rows = await query(
      hub.databaseUrl,
      'select from event_endpoint where removed_at is not null and num_nonnulls(sealed_secret, sealed_previous_secret) > 0',
    );
    expect(rows).to.deep.equal([]);
  });
});

/** Makes the secret of the endpoint unreadable; a second call makes it readable again. */
async function invertSecret({ databaseUrl }: TestHub, endpointId: string): Promise<void> {
  await query(
    databaseUrl,
    `update event_endpoint
     set sealed_secret = set_byte(sealed_secret, 40, 255 - get_byte(sealed_secret, 40)) where id = $1`,
    [parseId('whe', endpointId)],
  );
}

/** Pending deliveries that any hub may claim now. */
async function unclaimed({ databaseUrl }: TestHub, endpointId: string): Promise<number> {
  const rows = await query(
    databaseUrl,
    `select from event_delivery where endpoint_id = $1 and state = 'pending' and next_attempt_at <= now()`,
    [parseId('whe', endpointId)],
  );
  return rows.length;
}

/** Cancels statements that wait for a lock, and returns what identifies each. */
async function cancelReads({ databaseUrl }: TestHub, statement: string): Promise<string[]> {
  const rows = await query<{ read: string }>(
    databaseUrl,
    `select pid || ' ' || query_start as read, pg_cancel_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
    [statement],
  );
  return rows.map(({ read }) => read);
}
