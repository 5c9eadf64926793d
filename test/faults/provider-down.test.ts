import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { until } from '../support/until.ts';
import { discrepancies } from './books.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** How long the provider is away; a minute by HUB_TEST_DOWN_MS=60000. */
const DOWN_MS = Number(process.env['HUB_TEST_DOWN_MS'] ?? 4_000);
const BUDGET_MS = 500;
const CUSTOMERS = 30;

describe('a provider that is down while customers pay', function () {
  this.timeout(DOWN_MS + 120_000);
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({
      hubs: 2,
      environment: { HUB_CALLBACK_BUDGET_MS: `${BUDGET_MS}` },
    });
  });
  after(() => cluster.stop());

  it('delays no answer to a callback, and everything settles once it is back', async () => {
    const { simulator, door, databaseUrl } = cluster;
    const hub = cluster.hub(0);
    const refs: string[] = [];
    for (let number = 0; number < CUSTOMERS; number++) {
      const { session } = (await hub?.sessions.createChargeSession({
        slot: number % 2 === 0 ? 'store' : 'wallet',
        amount: { minorUnits: BigInt(1_000 + number), currency: 'BDT' },
      })) ?? { session: undefined };
      refs.push(session?.providerPaymentId ?? '');
    }
    await simulator.down(DOWN_MS, 'dropped');
    for (const ref of refs) {
      simulator.pay(ref);
      await setTimeout(DOWN_MS / (2 * CUSTOMERS));
    }
    await simulator.idle();
    const answered = [...door.passages];
    expect(answered.length).to.be.at.least(CUSTOMERS);
    expect(answered.filter(({ status }) => status !== 200)).to.deep.equal([]);
    // The budget plus a little: two seconds are a lot, and little beside a provider's time-outs.
    const slow = answered.filter(({ durationMs }) => durationMs > BUDGET_MS + 2_000);
    expect(slow).to.deep.equal([]);

    const trouble = () =>
      discrepancies({ databaseUrl, payments: simulator.payments(), passages: door.passages });
    await until(async () => (await trouble()).length === 0, 'everything has settled', DOWN_MS + 60_000);
    expect(simulator.payments().filter(({ state }) => state === 'paid')).to.have.length(CUSTOMERS);
  });
});
