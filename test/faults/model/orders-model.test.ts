// Compares two hubs that sell with a reference model, under random payments, reversals, changes of what is sold and kills.
import { expect } from 'chai';
import fc from 'fast-check';
import { parseId } from '../../../core/ids.ts';
import { ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { GATEWAYS } from '../../support/hub/payment.ts';
import { IS_LONG } from '../../support/long.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { buy, paymentOf } from '../load/payment-fixture.ts';
import { KINDS, keyTrouble, openShop, purchaseOf } from '../load/shop.ts';
import { type Cluster, startCluster } from '../scenes/cluster.ts';
import { pick, someHub } from './event-fixture.ts';
import { orderTrouble } from './order-books.ts';
import {
  type ModelPurchase,
  type OrderFixture,
  orderSteps,
  recheck,
  retryBlocked,
  runOrderSteps,
} from './order-steps.ts';

const STEPS = Number(process.env['HUB_TEST_STEPS'] ?? (IS_LONG ? 800 : 90));
const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);
/** Few, so that concurrent settlements change the same one. */
const LICENSES = 3;
const CUSTOMERS = 4;
const REST_MS = 90_000;

describe('orders at two hubs that are killed', function () {
  this.timeout(180_000 + STEPS * 200);
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ hubs: 2 });
  });
  after(() => cluster?.stop());

  it(`grant what was paid for once, whatever is revoked, reversed, repeated or killed (seed ${SEED})`, async () => {
    const fixture = await createFixture();
    const [plan = []] = fc.sample(orderSteps(STEPS), { numRuns: 1, seed: SEED });
    await runOrderSteps(fixture, plan);
    cluster.simulator.faults.clear();
    await cluster.simulator.idle();

    const wrongBlocks = await query(
      cluster.databaseUrl,
      `select reason from sales_order where state = 'blocked' and reason not like '%has been revoked%'`,
    );
    expect(wrongBlocks).to.deep.equal([]);
    const { licenses } = await someHub(cluster);
    for (const { licenseId } of fixture.shop.licenses) await licenses.reinstateLicense({ licenseId });
    let trouble: string[] = [];
    const atRest = async (): Promise<boolean> => {
      await Promise.all(
        fixture.purchases.filter(({ wasReversed }) => wasReversed).map((each) => recheck(cluster, each, 1)),
      );
      await retryBlocked(cluster, 1);
      trouble = await troubleOf(fixture);
      return trouble.length === 0;
    };
    await until(atRest, 'all is granted', REST_MS).catch((error) => {
      throw new Error([error.message, ...trouble.slice(0, 20)].join('\n'));
    });
    expect(fixture.purchases.some(({ provider }) => provider === 'paid')).to.equal(true);
    expect(await keyTrouble(cluster, await someHub(cluster), fixture.purchases)).to.deep.equal([]);
    await until(
      async () => (await (await someHub(cluster)).audit.verifyAuditLog({})).ok,
      'the audit log is linked',
      REST_MS,
    );
  });

  async function createFixture(): Promise<OrderFixture> {
    const hub = await someHub(cluster);
    const shop = await openShop(hub, LICENSES);
    const customers = await Promise.all(
      Array.from({ length: CUSTOMERS }, async (_, index) => {
        const { customer } = await hub.customers.createCustomer({
          name: `Known ${index}`,
          externalRef: `ref ${index}`,
        });
        return { customerId: customer?.customerId ?? '', isErased: false };
      }),
    );
    const purchases: ModelPurchase[] = [];
    for (const [index, kind] of [...KINDS, ...KINDS].entries()) {
      const gateway = GATEWAYS[index % GATEWAYS.length] ?? 'gateway_one';
      const { customerId } = pick(customers, index);
      const basket = purchaseOf(shop, { kind, quantity: 2, turn: index });
      const bought = await buy(cluster, { gateway, ...basket, customerId }, index);
      purchases.push({ ...bought, provider: 'open', wasReversed: false });
    }
    return { cluster, shop, purchases, customers, versions: 1 };
  }
});

async function troubleOf(fixture: OrderFixture): Promise<string[]> {
  const { cluster, shop } = fixture;
  return [
    ...(await orderTrouble(cluster.databaseUrl, shop.licenses)),
    ...(await purchaseTrouble(fixture)),
    ...(await priceTrouble(cluster)),
    ...(await erasureTrouble(fixture)),
    ...cluster.deaths,
  ];
}

/** Sessions that are not as the provider says, or whose order is not granted. */
async function purchaseTrouble({ cluster, purchases }: OrderFixture): Promise<string[]> {
  const rows = await query<{ id: string; state: string | null; version: number }>(
    cluster.databaseUrl,
    `select p.session_id as id, o.state, v.version from purchase p
     join offer_version v on v.id = p.offer_version_id left join sales_order o on o.session_id = p.session_id`,
  );
  const booked = new Map(rows.map((row) => [row.id, row]));
  const { sessions } = await someHub(cluster);
  const told: string[] = [];
  for (const { session, provider } of purchases) {
    const { sessionId } = session;
    const now = (await sessions.getChargeSession({ sessionId })).session;
    const { state, version } = booked.get(parseId('chs', sessionId) ?? '') ?? {};
    const money = paymentOf(cluster, session)?.state;
    const isPaid = now?.status === ChargeStatus.SUCCESS;
    const expect = (holds: boolean, what: string): void => {
      if (!holds) told.push(`session ${sessionId}, ${provider}, ${money} at the provider: ${what}`);
    };
    expect(isPaid === (money === 'paid'), `its status is ${now?.status}`);
    expect(provider !== 'paid' || isPaid, 'it is not paid');
    expect(!isPaid || state === 'fulfilled', `its order is ${state}`);
    expect(
      isPaid || provider !== 'reversed' || state === 'refunded' || state === null,
      `its order is ${state}`,
    );
    // The version that the customer saw, even if the offer has changed since.
    expect(version === session.purchase?.offerVersion, `it has version ${version}`);
  }
  return told;
}

/** The price of a version says what the version grants (see `termsOf`). */
async function priceTrouble({ databaseUrl }: Cluster): Promise<string[]> {
  const rows = await query<{ session: string; bought: number; granted: number }>(
    databaseUrl,
    `select * from (
       select c.id as session, (c.amount_minor / p.quantity - 10000)::int as bought,
              coalesce((v.granted->>'seatLimit')::int, (v.granted->>'seats')::int,
                       (v.granted->'by'->>'days')::int - 10) as granted
       from purchase p join charge_session c on c.id = p.session_id join offer_version v on v.id = p.offer_version_id
     ) sold where bought <> granted`,
  );
  return rows.map(
    ({ session, bought, granted }) => `session ${session} paid version ${bought}, not ${granted}`,
  );
}

/** Sessions of erased customers with personal data. */
async function erasureTrouble({ cluster, customers }: OrderFixture): Promise<string[]> {
  const erased = customers
    .filter(({ isErased }) => isErased)
    .map(({ customerId }) => parseId('cus', customerId));
  const rows = await query<{ id: string }>(
    cluster.databaseUrl,
    `select c.id from charge_session c join purchase p on p.session_id = c.id
     where p.customer_id = any($1) and c.customer <> '{}'`,
    [erased],
  );
  return rows.map(({ id }) => `session ${id} has personal data of an erased customer`);
}
