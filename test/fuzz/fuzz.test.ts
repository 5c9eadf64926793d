// The short form of npm run fuzz.

import { createRouterTransport } from '@connectrpc/connect';
import { expect } from 'chai';
import { gatewayRoutes } from '../../gateway/routes/all-routes.ts';
import { contractServices } from '../core/access/contract-services.ts';
import { type FuzzReport, fuzz } from './run-fuzz.ts';

const RUNS = Number(process.env['HUB_FUZZ_RUNS'] ?? 2_000);
/**
 * The seed is fixed, so that a failure points to the change. npm run fuzz uses new seeds to find new defects.
 */
const SEED = Number(process.env['HUB_FUZZ_SEED'] ?? 20_261_121);

describe(`a hub with random requests (seed ${SEED})`, function () {
  this.timeout(240_000);
  let report: FuzzReport;
  before(async () => {
    report = await fuzz({ runs: RUNS, seed: SEED });
  });

  it('never fails, never exits, never reveals a secret, and keeps its data correct', () => {
    expect(report.defects.join('\n\n')).to.equal('');
    expect(report.inputs).to.equal(RUNS);
  });

  it('receives requests at every endpoint, often enough with success', async () => {
    const routes = gatewayRoutes(createRouterTransport(() => {}));
    const methods = (await contractServices()).flatMap((service) => service.methods);
    expect([...report.targets.keys()]).to.include.members([
      ...routes.map(({ method, pattern }) => `${method} ${pattern}`),
      ...methods.map(({ parent, name }) => `${parent.typeName}/${name}`),
    ]);
    const granted = [...report.targets.values()].reduce((sum, tally) => sum + tally.granted, 0);
    expect(granted).to.be.within(RUNS / 5, (RUNS * 4) / 5);
  });
});
