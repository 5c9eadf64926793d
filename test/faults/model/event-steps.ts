// Random steps: changes of objects, of endpoints and of receivers, and kills of hubs.
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { activate, deactivate } from '../../support/network/rest.ts';
import type { HubClients } from '../scenes/cluster.ts';
import { type EventFixture, MOODS, pick, someHub, subscribe } from './event-fixture.ts';

const PATTERNS = [
  ['*'],
  ['license.*'],
  ['seat.*', 'customer.*'],
  ['session.*'],
  ['license.suspended'],
] as const;
const LICENSE_CHANGES = [
  'suspend',
  'resume',
  'revoke',
  'reinstate',
  'update',
  'renew',
  'rekey',
  'transfer',
] as const;
const turn = fc.nat(1_000);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('license' as const),
      turn,
      how: fc.constantFrom(...LICENSE_CHANGES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('issue' as const),
      turn,
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('activate' as const), turn, machine: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('deactivate' as const), turn, machine: fc.nat(3) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('customer' as const),
      turn,
      how: fc.constantFrom('create', 'create', 'update', 'erase'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('session' as const),
      turn,
      how: fc.constantFrom('pay', 'fail', 'leave'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('mood' as const), turn, mood: fc.constantFrom(...MOODS) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('endpoint' as const),
      turn,
      how: fc.constantFrom('disable', 'enable', 'enable', 'filter', 'renew', 'rotate'),
      patterns: fc.constantFrom(...PATTERNS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), turn }) },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

export const steps = (count: number) =>
  fc.noBias(
    fc.array(fc.record({ step, thenMs: fc.nat(40) }), { minLength: count, maxLength: count, size: 'max' }),
  );

/** Runs steps one after another; their work may continue. */
export async function runSteps(
  fixture: EventFixture,
  plan: readonly { readonly step: Step; readonly thenMs: number }[],
): Promise<void> {
  for (const { step: next, thenMs } of plan) {
    const work = runStep(fixture, next).catch(() => {}); // refused, or its hub was killed
    fixture.pending.push(work);
    // Endpoints change one after another; all else continues.
    if (next.kind === 'endpoint') await work;
    await pause(thenMs);
  }
}

async function runStep(fixture: EventFixture, next: Step): Promise<void> {
  const { cluster, licenses, subscribers } = fixture;
  switch (next.kind) {
    case 'mood': {
      const subscriber = pick(subscribers, next.turn);
      // The first one is never disabled.
      subscriber.mood = next.mood === 'gone' && subscriber === subscribers[0] ? 'ok' : next.mood;
      return;
    }
    case 'kill':
      return cluster.replace(next.turn % 2);
    case 'activate':
      return void (await activate(
        pick(cluster.gateways(), next.turn),
        pick(licenses, next.turn).licenseKey,
        `m${next.machine}`,
      ));
    case 'deactivate':
      return void (await deactivate(
        pick(cluster.gateways(), next.turn),
        pick(licenses, next.turn).licenseKey,
        `m${next.machine}`,
      ));
    default:
      return change(fixture, next, await someHub(cluster, next.turn));
  }
}

type Change = Exclude<Step, { kind: 'mood' | 'kill' | 'activate' | 'deactivate' }>;

async function change(fixture: EventFixture, next: Change, hub: HubClients): Promise<void> {
  const { app, licenses, customerIds, cluster } = fixture;
  switch (next.kind) {
    case 'issue': {
      const issued = await hub.licenses.issueLicenses({ app, seatLimit: 2, count: next.count });
      for (const { license, licenseKey } of issued.licenses) {
        licenses.push({ licenseId: license?.licenseId ?? '', licenseKey });
      }
      return;
    }
    case 'license':
      return changeLicense(fixture, next, hub);
    case 'customer': {
      const customerId = pick(customerIds, next.turn);
      if (next.how === 'erase') return void (await hub.customers.eraseCustomer({ customerId }));
      if (next.how === 'update') {
        const [name, updateMask] = [`name ${next.turn}`, { paths: ['name'] }];
        return void (await hub.customers.updateCustomer({ customerId, name, updateMask }));
      }
      const { customer } = await hub.customers.createCustomer({ name: `name ${next.turn}` });
      return void customerIds.push(customer?.customerId ?? '');
    }
    case 'session': {
      const { session } = await hub.sessions.createChargeSession({
        slot: SLOTS[pick(GATEWAYS, next.turn)],
        amount: { minorUnits: 10_000n, currency: 'BDT' },
        orderReference: 'ORD-1',
        idempotencyKey: `${next.turn} ${Math.random()}`,
      });
      if (session === undefined) return;
      fixture.sessionIds.push(session.sessionId);
      if (next.how !== 'leave') cluster.simulator[next.how](session.providerPaymentId);
      return;
    }
    case 'endpoint':
      return changeEndpoint(fixture, next, hub);
  }
}

async function changeLicense(
  { licenses, customerIds }: EventFixture,
  { turn: at, how }: Extract<Step, { kind: 'license' }>,
  { licenses: admin }: HubClients,
): Promise<void> {
  const { licenseId } = pick(licenses, at);
  const changes = {
    suspend: () => admin.suspendLicense({ licenseId, reason: `reason ${at}` }),
    resume: () => admin.resumeLicense({ licenseId }),
    revoke: () => admin.revokeLicense({ licenseId, reason: `reason ${at}` }),
    reinstate: () => admin.reinstateLicense({ licenseId }),
    update: () =>
      admin.updateLicense({ licenseId, updateMask: { paths: ['seat_limit'] }, seatLimit: 1 + (at % 5) }),
    renew: () =>
      admin.renewLicense({
        licenseId,
        extension: { case: 'by', value: { months: 1 } },
        idempotencyKey: `${at} ${Math.random()}`,
      }),
    rekey: () => admin.rekeyLicense({ licenseId }),
    transfer: () => admin.transferLicense({ licenseId, customerId: pick(customerIds, at) }),
  };
  await changes[how]();
}

/** Never changes the first endpoint, except for its secret. */
async function changeEndpoint(
  { subscribers: [first, ...others] }: EventFixture,
  { turn: at, how, patterns }: Extract<Step, { kind: 'endpoint' }>,
  hub: HubClients,
): Promise<void> {
  const subscriber = how === 'rotate' ? pick([first, ...others], at) : pick(others, at);
  const { endpointId = '', path, receiver } = subscriber;
  switch (how) {
    case 'disable':
      return void (await hub.events.disableEndpoint({ endpointId, reason: 'model' }));
    case 'enable':
      return void (await hub.events.enableEndpoint({ endpointId }));
    case 'filter': {
      const settings = { url: new URL(path, receiver.url).href, events: [...patterns] };
      return void (await hub.events.updateEndpoint({ endpointId, settings }));
    }
    case 'renew':
      await hub.events.removeEndpoint({ endpointId });
      subscriber.endpointId = undefined;
      return subscribe(hub, subscriber, patterns);
    case 'rotate': {
      // If its hub is killed, the old secret still signs.
      const { secret } = await hub.events.rotateEndpointSecret({ endpointId });
      return void subscriber.secrets.get(path)?.push(secret);
    }
  }
}
