// Random steps of a shop on two hubs: purchases, payments, reversals, changes of what is sold, and kills.
import { ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import type { FaultKind } from '../../../cli/simulator/faults.ts';
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import { callBack, callbackFields, GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { type Bought, paymentOf } from '../load/payment-fixture.ts';
import { KINDS, purchaseOf, type Shop, termsOf } from '../load/shop.ts';
import type { Cluster, HubClients } from '../scenes/cluster.ts';
import { pick, someHub } from './event-fixture.ts';
import { runSteps } from './run-steps.ts';

/** A purchase, and what the customer and the provider did with its payment. */
export type ModelPurchase = Bought & {
  provider: 'open' | 'paid' | 'reversed';
  wasReversed: boolean;
};

export type OrderFixture = {
  readonly cluster: Cluster;
  readonly shop: Shop;
  readonly purchases: ModelPurchase[];
  readonly customers: { readonly customerId: string; isErased: boolean }[];
  /** Counts the versions of the offers. */
  versions: number;
};

const turn = fc.nat(1_000);
const times = fc.integer({ min: 1, max: 3 });
const LICENSE_CHANGES = ['revoke', 'revoke', 'reinstate', 'suspend', 'resume', 'rekey'] as const;
const FATES = ['late', 'lost', 'duplicated', 'reordered'] as const satisfies readonly FaultKind[];
const DELAY_MS = 500;

const kinds = {
  buy: fc.record({
    kind: fc.constant('buy' as const),
    turn,
    what: fc.constantFrom(...KINDS),
    quantity: times,
    gateway: fc.constantFrom(...GATEWAYS),
    buyer: fc.constantFrom('inline' as const, 'known' as const, 'nobody' as const),
  }),
  pay: fc.record({
    kind: fc.constant('pay' as const),
    turn,
    fate: fc.option(fc.constantFrom(...FATES), { freq: 3 }),
  }),
  callback: fc.record({ kind: fc.constant('callback' as const), turn, times }),
  reverse: fc.record({ kind: fc.constant('reverse' as const), turn, times }),
  license: fc.record({
    kind: fc.constant('license' as const),
    turn,
    how: fc.constantFrom(...LICENSE_CHANGES),
  }),
  offer: fc.record({
    kind: fc.constant('offer' as const),
    what: fc.constantFrom(...KINDS),
    how: fc.constantFrom('update', 'update', 'archive', 'unarchive', 'unarchive'),
  }),
  retry: fc.record({ kind: fc.constant('retry' as const), turn, times }),
  erase: fc.record({ kind: fc.constant('erase' as const), turn }),
  kill: fc.record({ kind: fc.constant('kill' as const), turn }),
  cut: fc.record({ kind: fc.constant('cut' as const) }),
};
type Step = {
  [K in keyof typeof kinds]: (typeof kinds)[K] extends fc.Arbitrary<infer T> ? T : never;
}[keyof typeof kinds];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: kinds.buy },
  { weight: 12, arbitrary: kinds.pay },
  { weight: 4, arbitrary: kinds.callback },
  { weight: 4, arbitrary: kinds.reverse },
  { weight: 5, arbitrary: kinds.license },
  { weight: 3, arbitrary: kinds.offer },
  { weight: 3, arbitrary: kinds.retry },
  { weight: 1, arbitrary: kinds.erase },
  { weight: 1, arbitrary: kinds.kill },
  { weight: 1, arbitrary: kinds.cut },
);

export const orderSteps = (count: number) =>
  fc.noBias(
    fc.array(fc.record({ step, thenMs: fc.nat(50) }), { minLength: count, maxLength: count, size: 'max' }),
  );

export function runOrderSteps(
  fixture: OrderFixture,
  plan: readonly { readonly step: Step; readonly thenMs: number }[],
): Promise<void> {
  // Refused, or its hub was killed.
  const isExpected = (error: unknown) => error instanceof ConnectError;
  return runSteps(plan, (step) => runStep(fixture, step), isExpected);
}

async function runStep(fixture: OrderFixture, next: Step): Promise<void> {
  const { cluster, purchases, customers } = fixture;
  switch (next.kind) {
    case 'buy':
      return buyOne(fixture, next);
    case 'pay':
      return payOne(fixture, next);
    case 'callback': {
      const { session } = pick(purchases, next.turn);
      const fields = callbackFields(session, 'paid', paymentOf(cluster, session)?.proof);
      const send = () => callBack(cluster.door.url, session.gateway, fields);
      return void (await Promise.all(Array.from({ length: next.times }, send)));
    }
    case 'reverse':
      return reverseOrRestore(fixture, next);
    case 'license':
      return changeLicense(fixture, next);
    case 'offer':
      return changeOffer(fixture, next);
    case 'retry':
      return retryBlocked(cluster, next.times);
    case 'erase': {
      const customer = pick(customers, next.turn);
      const hub = await someHub(cluster, next.turn);
      await hub.customers.eraseCustomer({ customerId: customer.customerId });
      customer.isErased = true;
      return;
    }
    case 'kill':
      return cluster.replace(next.turn % 2);
    case 'cut':
      return cluster.cutDatabase();
  }
}

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>;

async function buyOne(
  { cluster, shop, purchases, customers }: OrderFixture,
  { turn: at, what, quantity, gateway, buyer }: StepOf<'buy'>,
): Promise<void> {
  const { customer, ...purchase } = purchaseOf(shop, { kind: what, quantity, turn: at });
  const customerId = buyer === 'known' ? pick(customers, at).customerId : undefined;
  const hub = await someHub(cluster, at);
  const { session, claimToken } = await hub.sessions.createChargeSession({
    slot: SLOTS[gateway],
    currency: 'BDT',
    ...purchase,
    ...(buyer === 'inline' && customer && { customer }),
    ...(customerId && { customerId, customer: { name: `Known ${at}`, email: `known-${at}@example.com` } }),
  });
  if (session !== undefined) {
    purchases.push({ session, claimToken, provider: 'open', wasReversed: false });
  }
}

async function payOne(
  { cluster: { simulator }, purchases }: OrderFixture,
  { turn: at, fate }: StepOf<'pay'>,
): Promise<void> {
  const open = purchases.filter(({ provider }) => provider === 'open');
  if (open.length === 0) return;
  const purchase = pick(open, at);
  const { providerPaymentId: ref } = purchase.session;
  purchase.provider = 'paid';
  if (fate !== null) simulator.faults.add({ kind: fate, operation: 'callback', ref, delayMs: DELAY_MS });
  simulator.pay(ref);
}

/** The provider reverses a payment, or restores a reversed one, and the hub asks several times at once. */
async function reverseOrRestore(
  { cluster, purchases }: OrderFixture,
  { turn: at, times: count }: StepOf<'reverse'>,
): Promise<void> {
  const decided = purchases.filter(({ provider }) => provider !== 'open');
  if (decided.length === 0) return;
  const purchase = pick(decided, at);
  const { session } = purchase;
  const state = paymentOf(cluster, session)?.state;
  if (state === 'paid') {
    cluster.simulator.reverse(session.providerPaymentId);
    purchase.provider = 'reversed';
    purchase.wasReversed = true;
  } else if (state === 'reversed') {
    cluster.simulator.standAgain(session.providerPaymentId);
    purchase.provider = 'paid';
  }
  await recheck(cluster, purchase, count);
}

/** Asks the provider about a session, at both hubs in turn. */
export async function recheck(cluster: Cluster, { session }: Bought, count: number): Promise<void> {
  const { sessionId } = session;
  const ask = async (_: unknown, index: number) =>
    (await someHub(cluster, index)).sessions.recheckChargeSession({ sessionId });
  await Promise.allSettled(Array.from({ length: count }, ask));
}

async function changeLicense(
  { cluster, shop }: OrderFixture,
  { turn: at, how }: StepOf<'license'>,
): Promise<void> {
  const { licenseId } = pick(shop.licenses, at);
  const { licenses } = await someHub(cluster, at);
  const changes = {
    revoke: () => licenses.revokeLicense({ licenseId, reason: `reason ${at}` }),
    reinstate: () => licenses.reinstateLicense({ licenseId }),
    suspend: () => licenses.suspendLicense({ licenseId, reason: `reason ${at}` }),
    resume: () => licenses.resumeLicense({ licenseId }),
    rekey: () => licenses.rekeyLicense({ licenseId }),
  };
  await changes[how]();
}

async function changeOffer(fixture: OrderFixture, { what, how }: StepOf<'offer'>): Promise<void> {
  const { cluster, shop } = fixture;
  const { offers } = await someHub(cluster, fixture.versions);
  const offer = `${shop.app}/${what}`;
  if (how === 'archive') return void (await offers.archiveOffer({ offer }));
  if (how === 'unarchive') return void (await offers.unarchiveOffer({ offer }));
  await offers.updateOffer({ offer, terms: termsOf(what, ++fixture.versions) });
}

/** Retries all blocked orders, each several times at once. */
export async function retryBlocked(cluster: Cluster, count: number): Promise<void> {
  const hub: HubClients = await someHub(cluster);
  const { orders } = await hub.orders.listOrders({ state: OrderState.BLOCKED, pageSize: 1_000 });
  const retries = orders.flatMap(({ orderId }) =>
    Array.from({ length: count }, async (_, index) =>
      (await someHub(cluster, index)).orders.retryOrder({ order: orderId }),
    ),
  );
  await Promise.allSettled(retries);
}
