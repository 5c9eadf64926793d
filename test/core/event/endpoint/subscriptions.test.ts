// A change of an endpoint takes effect exactly for the changes that are committed after it.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import fc from 'fast-check';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../../support/network/webhook-receiver.ts';
import { until } from '../../../support/until.ts';
import { addEndpoint, type EventClient, eventClient, RECEIVER_SETTINGS } from '../event-scene.ts';

const STEPS = 60;
const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);

const step = fc.record({
  filter: fc.constantFrom(
    ['*'],
    ['license.*'],
    ['customer.*'],
    ['license.suspended', 'customer.created'],
    undefined,
  ),
  scope: fc.constantFrom('none', 'first', 'second'),
  change: fc.constantFrom('issue', 'suspend', 'resume', 'customer'),
  app: fc.nat(1),
  atSecond: fc.boolean(),
});

describe('subscriptions', () => {
  let hubs: [TestHub, TestHub];
  let receiver: WebhookReceiver;
  before(async () => {
    const first = await startHub({ settings: RECEIVER_SETTINGS });
    hubs = [first, await startHub({ settings: RECEIVER_SETTINGS, beside: first })];
    receiver = await startWebhookReceiver();
  });
  after(async () => {
    await hubs[1].stop();
    await hubs[0].stop();
    await receiver.close();
  });

  it(`change between the changes before and after, beside others at two hubs (seed ${SEED})`, async () => {
    const [{ admin }] = hubs;
    const apps = [await createApp(admin), await createApp(admin)];
    const licenses = await Promise.all(apps.map((app) => issueLicense(admin, { app })));
    const noise = await createApp(admin);
    let isOver = false;
    const makeNoise = async (): Promise<void> => {
      while (!isOver) await hubs[1].admin.issueLicenses({ app: noise, seatLimit: 1, count: 20 });
    };
    const { endpointId } = await addEndpoint(eventClient(hubs[0]), receiver.url, {
      events: ['endpoint.test'],
    });
    const others = makeNoise();
    const expected: string[] = [];
    const [plan = []] = fc.sample(fc.array(step, { minLength: STEPS, maxLength: STEPS, size: 'max' }), {
      numRuns: 1,
      seed: SEED,
    });
    for (const { filter, scope, change, app, atSecond } of plan) {
      const [near, far] = atSecond ? [hubs[1], hubs[0]] : hubs;
      const scoped = scope === 'none' ? [...apps] : [apps[scope === 'first' ? 0 : 1] ?? ''];
      await configure(eventClient(near), endpointId, filter, filter?.[0] === 'customer.*' ? [] : scoped);
      const made = await makeChange(far, change, licenses[app]?.licenseId ?? '', apps[app] ?? '');
      if (made === undefined || filter === undefined) continue;
      const isInScope =
        made.type === 'customer.created'
          ? filter[0] === 'customer.*'
          : filter[0] !== 'customer.*' && scoped.includes(apps[app] ?? '');
      const isSelected = filter.some(
        (pattern) => pattern === made.type || pattern === '*' || pattern === `${made.type.split('.')[0]}.*`,
      );
      if (isInScope && isSelected) expected.push(`${made.type} ${made.object}`);
    }
    isOver = true;
    await others;
    await configure(eventClient(hubs[0]), endpointId, ['customer.*'], []);
    const last = await makeChange(hubs[1], 'customer', '', '');
    expected.push(`${last?.type} ${last?.object}`);
    const received = () =>
      new Map(
        receiver.received.map(({ headers, event }) => [
          headers['webhook-id'],
          `${event.type} ${event.data['licenseId'] ?? event.data['customerId']}`,
        ]),
      );
    await until(() => received().size >= expected.length, 'the expected events are received');
    expect([...received().values()].sort()).to.deep.equal(expected.sort());
  });
});

/** Without a filter, the endpoint is disabled. */
async function configure(
  events: EventClient,
  endpointId: string,
  filter: readonly string[] | undefined,
  apps: readonly string[],
): Promise<void> {
  if (filter === undefined) {
    await events.disableEndpoint({ endpointId, reason: 'test' });
    return;
  }
  const { endpoint } = await events.getEndpoint({ endpointId });
  await events.updateEndpoint({
    endpointId,
    settings: { url: endpoint?.url ?? '', events: [...filter], apps: [...apps] },
  });
  await events.enableEndpoint({ endpointId });
}

type Made = { readonly type: string; readonly object: string };

/** Undefined if there was nothing to change. */
async function makeChange(
  { admin, transport }: TestHub,
  change: 'issue' | 'suspend' | 'resume' | 'customer',
  licenseId: string,
  app: string,
): Promise<Made | undefined> {
  if (change === 'issue')
    return { type: 'license.issued', object: (await issueLicense(admin, { app })).licenseId };
  if (change === 'customer') {
    const { customer } = await createClient(CustomerService, transport).createCustomer({ name: 'x' });
    return { type: 'customer.created', object: customer?.customerId ?? '' };
  }
  const { license } = await admin.getLicense({ licenseId });
  const isSuspended = license?.suspendedAt !== undefined;
  if (isSuspended === (change === 'suspend')) return undefined;
  if (isSuspended) await admin.resumeLicense({ licenseId });
  else await admin.suspendLicense({ licenseId, reason: 'test' });
  return { type: isSuspended ? 'license.resumed' : 'license.suspended', object: licenseId };
}
