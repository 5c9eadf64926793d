// Refunds by operators at two hubs, and by somebody at the provider, of the same payments: the books agree.
import { expect } from 'chai';
import fc from 'fast-check';
import { ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { GATEWAYS } from '../../support/hub/payment.ts';
import { IS_LONG } from '../../support/long.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { buy } from '../load/payment-fixture.ts';
import { endRefunds } from '../load/refund-load.ts';
import { KINDS, openShop, purchaseOf, slugOf } from '../load/shop.ts';
import { type Cluster, startCluster } from '../scenes/cluster.ts';
import { someHub } from './event-fixture.ts';
import { type RefundFixture, refundSteps, runRefundSteps } from './refund-steps.ts';
import { untilBooksAgree } from './until-books-agree.ts';

const STEPS = Number(process.env['HUB_TEST_STEPS'] ?? (IS_LONG ? 400 : 50));
const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);
const SESSIONS = 12;
const REST_MS = 60_000;

describe('refunds at two hubs', function () {
  this.timeout(180_000 + STEPS * 200);
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ hubs: 2 });
  });
  after(() => cluster?.stop());

  it(`leave the books of the hub and of the provider equal, to the minor unit (seed ${SEED})`, async () => {
    const shop = await openShop(await someHub(cluster), SESSIONS);
    const fixture: RefundFixture = { cluster, sessions: await paidSessions(shop), torn: [] };
    const [plan = []] = fc.sample(refundSteps(STEPS), { numRuns: 1, seed: SEED });
    await runRefundSteps(fixture, plan);
    endRefunds(cluster);
    await cluster.simulator.idle();

    expect(await untilBooksAgree(cluster, shop.licenses, REST_MS)).to.deep.equal([]);
    expect(fixture.torn, 'repeated requests with several refunds').to.deep.equal([]);
    const [booked] = await query<{ minor: string }>(
      cluster.databaseUrl,
      'select coalesce(sum(amount_minor), 0)::text as minor from usage_log',
    );
    expect(booked?.minor).to.equal(`${cluster.simulator.totals()['BDT'] ?? 0n}`);
    expect(cluster.simulator.refunds()).to.not.deep.equal([]);
  });

  async function paidSessions(shop: Awaited<ReturnType<typeof openShop>>) {
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, async (_, index) => {
        const gateway = GATEWAYS[index % GATEWAYS.length] ?? 'gateway_one';
        const kind = KINDS[Math.floor(index / 2) % KINDS.length] ?? 'license';
        const purchase = purchaseOf(shop, { kind, quantity: 1 + (index % 3), turn: index });
        const offer = `${shop.app}/${slugOf(kind, index)}`;
        const { session } = await buy(cluster, { gateway, ...purchase, offer }, index);
        cluster.simulator.pay(session.providerPaymentId);
        return session;
      }),
    );
    const arePaid = async (): Promise<boolean> => {
      const { sessions: client } = await someHub(cluster);
      const now = await Promise.all(sessions.map(({ sessionId }) => client.getChargeSession({ sessionId })));
      return now.every(({ session }) => session?.status === ChargeStatus.SUCCESS);
    };
    await until(arePaid, 'all sessions are paid', REST_MS);
    return sessions;
  }
});
