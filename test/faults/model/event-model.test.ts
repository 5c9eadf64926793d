// Random changes at two hubs that are killed, and receivers that fail: all events arrive, and none is invented.
import fc from 'fast-check';
import { DeliveryState } from '../../../gen/hub/event/v1/event_pb.ts';
import { createApp } from '../../support/hub/license.ts';
import { IS_LONG } from '../../support/long.ts';
import { until } from '../../support/until.ts';
import { type Cluster, type HubClients, startCluster } from '../scenes/cluster.ts';
import {
  createSubscriber,
  type EventFixture,
  removeStrays,
  type Subscriber,
  someHub,
  subscribe,
} from './event-fixture.ts';
import { judgeEvents } from './event-judge.ts';
import { runSteps, steps } from './event-steps.ts';

const STEPS = IS_LONG ? 3_000 : 120;
const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);
const REST_MS = 60_000;

/** Begins all deliveries to an endpoint again that did not succeed, so that no retry or claim is waited for. */
async function replayAll(events: HubClients['events'], endpointId: string): Promise<void> {
  for (const state of [DeliveryState.PENDING, DeliveryState.FAILED]) {
    for (let pageToken = ''; ; ) {
      const page = await events.listDeliveries({ endpointId, state, pageToken, pageSize: 1_000 });
      for (const { eventId } of page.deliveries) await events.replayEvent({ eventId, endpointId });
      pageToken = page.nextPageToken;
      if (pageToken === '') break;
    }
  }
}

describe('events of hubs that are killed', function () {
  this.timeout(180_000 + STEPS * 200);
  let cluster: Cluster;
  let subscribers: [Subscriber, ...Subscriber[]];
  before(async () => {
    cluster = await startCluster({ hubs: 2, environment: { HUB_EVENT_ALLOW_NETWORKS: '127.0.0.0/8' } });
    subscribers = [await createSubscriber(), await createSubscriber(), await createSubscriber()];
  });
  after(async () => {
    await cluster?.stop();
    for (const { receiver } of subscribers ?? []) await receiver.close();
  });

  it(`arrive at every receiver that comes back, and show what was committed (seed ${SEED})`, async () => {
    const hub = await someHub(cluster);
    for (const subscriber of subscribers) await subscribe(hub, subscriber, ['*']);
    const fixture = await createObjects(cluster, subscribers);
    const [plan = []] = fc.sample(steps(STEPS), { numRuns: 1, seed: SEED });
    await runSteps(fixture, plan);
    await settle(fixture);
    let faults: string[] = [];
    const isRight = async (): Promise<boolean> => {
      faults = [...(await judgeEvents(fixture, await someHub(cluster))), ...cluster.deaths];
      return faults.length === 0;
    };
    await until(isRight, 'all events are delivered', REST_MS).catch((error) => {
      throw new Error([error.message, ...faults.slice(0, 20)].join('\n'));
    });
  });

  async function createObjects(on: Cluster, all: EventFixture['subscribers']): Promise<EventFixture> {
    const { licenses, customers } = await someHub(on);
    const app = await createApp(licenses);
    const inAYear = { seconds: BigInt(Math.floor(Date.now() / 1_000)) + 31_536_000n, nanos: 0 };
    const issued = await licenses.issueLicenses({ app, seatLimit: 2, count: 6, expiresAt: inAYear });
    const created = await Promise.all(
      [1, 2, 3].map((each) => customers.createCustomer({ name: `first ${each}` })),
    );
    return {
      cluster: on,
      app,
      subscribers: all,
      licenses: issued.licenses.map(({ license, licenseKey }) => ({
        licenseId: license?.licenseId ?? '',
        licenseKey,
      })),
      customerIds: created.map(({ customer }) => customer?.customerId ?? ''),
      sessionIds: [],
      pending: [],
    };
  }

  /** The receivers come back, the hubs are killed a last time, and an operator does not wait for the retries. */
  async function settle(fixture: EventFixture): Promise<void> {
    await Promise.all(fixture.pending);
    await cluster.simulator.idle();
    for (const subscriber of fixture.subscribers) subscriber.mood = 'ok';
    await Promise.all([cluster.replace(0), cluster.replace(1)]);
    await removeStrays(fixture);
    const { events } = await someHub(cluster);
    const { endpoints } = await events.listEndpoints({});
    for (const { endpointId } of endpoints) {
      await events.enableEndpoint({ endpointId });
      await replayAll(events, endpointId);
    }
  }
});
