import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../../core/ids.ts';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../../support/network/webhook-receiver.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { addEndpoint, type EventClient, eventClient, eventsOf, RECEIVER_SETTINGS } from '../event-scene.ts';

/** More than the overlap of two passes. */
const FAR = 25_000;

describe('the sequencer', () => {
  let hub: TestHub;
  let events: EventClient;
  let receiver: WebhookReceiver;
  let late: pg.Client;
  before(async () => {
    // The smallest pool that a hub accepts.
    hub = await startHub({ settings: { ...RECEIVER_SETTINGS, databasePool: 2 } });
    events = eventClient(hub);
    receiver = await startWebhookReceiver();
    await addEndpoint(events, receiver.url, { events: ['license.*'] });
  });
  after(async () => {
    await hub.stop();
    await receiver.close();
  });
  beforeEach(async () => {
    late = new pg.Client({ connectionString: hub.databaseUrl });
    await late.connect();
  });
  afterEach(() => late.end());

  const record = (client: pg.Client, type: string, licenseId: string) =>
    client.query(insertOf(type, licenseId));
  const insertOf = (type: string, licenseId: string) =>
    `insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
     values ('${type}', '{${parseId('lic', licenseId)}}', '{null}', '{null}', now())`;
  /** Advances the positions of the outbox, as many events of other transactions do. */
  const skipPositions = () =>
    query(
      hub.databaseUrl,
      `select setval('event_outbox_position_seq', nextval('event_outbox_position_seq') + ${FAR})`,
    );
  const numbers = async () =>
    (await query<{ number: string }>(hub.databaseUrl, 'select number from event order by number')).map(
      ({ number }) => Number(number),
    );
  const isReceived = (licenseId: string, type: string) =>
    receiver.received.some(({ event }) => event.type === type && event.data['licenseId'] === licenseId);

  it('numbers an event that commits seconds later, without a gap and without delaying other events', async () => {
    const app = await createApp(hub.admin);
    const { licenseId } = await issueLicense(hub.admin, { app });
    await late.query('begin');
    await record(late, 'license.suspended', licenseId);
    await skipPositions();
    const { licenseId: other } = await issueLicense(hub.admin, { app });
    await until(() => isReceived(other, 'license.issued'), 'the other license is announced');
    expect(isReceived(licenseId, 'license.suspended')).to.equal(false);
    await late.query('commit');
    await until(() => isReceived(licenseId, 'license.suspended'), 'the late event is delivered');
    const [[issued], [, suspended]] = [
      await eventsOf(events, other, 1),
      await eventsOf(events, licenseId, 2),
    ];
    expect(Number(suspended?.sequence)).to.be.above(Number(issued?.sequence));
    expect(await numbers()).to.deep.equal((await numbers()).map((_, index) => index + 1));
  });

  for (const turn of [1, 2, 3]) {
    it(`keeps the order of an object's events after a late commit (${turn})`, async () => {
      const { licenseId } = await issueLicense(hub.admin);
      await eventsOf(events, licenseId, 1);
      await late.query('begin');
      await record(late, 'license.suspended', licenseId);
      await skipPositions();
      const { licenseId: other } = await issueLicense(hub.admin);
      await eventsOf(events, other, 1);
      // In one round trip: the next change of the object follows at once.
      await late.query(`commit; ${insertOf('license.resumed', licenseId)}`);
      const found = await eventsOf(events, licenseId, 3);
      expect(found.map((event) => event.type)).to.deep.equal([
        'license.issued',
        'license.suspended',
        'license.resumed',
      ]);
    });
  }

  it('leaves out a change that is rolled back or refused', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    await late.query('begin');
    await record(late, 'license.suspended', licenseId);
    await late.query('rollback');
    await hub.admin.revokeLicense({ licenseId, reason: 'test' });
    await hub.admin.suspendLicense({ licenseId, reason: 'test' }).catch(() => {}); // license_revoked
    await hub.admin.revokeLicense({ licenseId, reason: 'again' }); // changes nothing
    await hub.admin.reinstateLicense({ licenseId });
    const found = await eventsOf(events, licenseId, 3);
    expect(found.map(({ type }) => type)).to.deep.equal([
      'license.issued',
      'license.revoked',
      'license.reinstated',
    ]);
    expect(await numbers()).to.deep.equal((await numbers()).map((_, index) => index + 1));
  });

  it('works beside many changes of endpoints and erasures, with two connections', async () => {
    await changeAndErase(hub, receiver);
  });

  it('works beside many changes of endpoints and erasures, with three connections', async () => {
    const own = await startHub({ settings: { ...RECEIVER_SETTINGS, databasePool: 3 } });
    try {
      await changeAndErase(own, receiver);
    } finally {
      await own.stop();
    }
  });
});

/** Changes an endpoint, erases customers and issues licenses at the same time. */
async function changeAndErase(hub: TestHub, receiver: WebhookReceiver): Promise<void> {
  const events = eventClient(hub);
  const { endpointId } = await addEndpoint(events, receiver.url);
  const customers = createClient(CustomerService, hub.transport);
  const created = await Promise.all(
    Array.from({ length: 8 }, (_, index) => customers.createCustomer({ name: `c ${index}` })),
  );
  const begun = performance.now();
  await Promise.all(
    created.flatMap(({ customer }, index) => [
      customers.eraseCustomer({ customerId: customer?.customerId ?? '' }),
      index % 2 === 0
        ? events.disableEndpoint({ endpointId, reason: 'test' })
        : events.enableEndpoint({ endpointId }),
      issueLicense(hub.admin),
    ]),
  );
  // A connection that waits for a lock gives up after 15 seconds.
  expect(performance.now() - begun).to.be.below(10_000);
  await events.removeEndpoint({ endpointId });
}
