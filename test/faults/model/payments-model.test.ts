// Compares two hub processes with a reference model, under random callbacks, faults, operators and kills.
import fc from 'fast-check';
import { GATEWAYS } from '../../support/hub/payment.ts';
import { IS_LONG } from '../../support/long.ts';
import { comeToRest, createFixture } from '../load/payment-fixture.ts';
import { type Cluster, startCluster } from '../scenes/cluster.ts';
import { paymentCommands } from './payment-commands.ts';
import { newModelSession } from './payment-model.ts';

/** The number of runs for the seed. Each one takes about 20 seconds. */
const RUNS = Number(process.env['HUB_TEST_RUNS'] ?? (IS_LONG ? 10 : 1));
const SEED = process.env['HUB_TEST_SEED'];
const REST_MS = 90_000;

describe('payments at two hubs that are killed', function () {
  this.timeout(Math.max(180_000, RUNS * 2 * REST_MS));
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ hubs: 2 });
  });
  after(() => cluster?.stop());

  it('match a reference model and the provider, whatever is sent, lost, refused or interrupted', async () => {
    const order = fc.record({
      gateway: fc.constantFrom(...GATEWAYS),
      minor: fc.integer({ min: 1_000, max: 5_000_000 }),
    });
    const orders = fc.array(order, { minLength: 8, maxLength: 16 });
    const property = fc.asyncProperty(orders, paymentCommands(150), async (ordered, commands) => {
      const fixture = await createFixture(cluster, ordered);
      const model = { sessions: ordered.map(({ gateway }) => newModelSession(gateway)) };
      await fc.asyncModelRun(() => ({ model, real: fixture }), commands);
      await comeToRest(fixture, model, REST_MS);
    });
    // Shrinking is off: concurrent operations never repeat in the same order, so a smaller case may pass by
    // chance.
    await fc.assert(property, {
      numRuns: RUNS,
      endOnFailure: true,
      includeErrorInReport: true,
      ...(SEED && { seed: Number(SEED) }),
    });
  });
});
