// The short form of npm run fault -- failover: the primary fails once. It takes a minute, so it needs
// HUB_TEST_LONG=1.
import { expect } from 'chai';
import { IS_LONG } from '../../support/long.ts';
import { strike } from '../disruptions/strike.ts';
import { reportFailover } from './failover-report.ts';
import { missingPackages } from './patroni-cluster.ts';
import { KILL_AHEAD, openPatroni, type PatroniStage } from './patroni-scene.ts';

/** The minimum that Patroni accepts. */
const TTL_SECONDS = 8;

describe('a hub under load during a Patroni failover', () => {
  let stage: PatroniStage | undefined;
  before(async function () {
    if (!IS_LONG) return this.skip();
    stage = await openPatroni(TTL_SECONDS);
    if (stage !== undefined) return;
    process.stderr.write(`      pending: install ${missingPackages() ?? 'Linux'}\n`);
    this.skip();
  });
  after(() => stage?.close());

  it('loses nothing, reports that it is not ready, and writes again', async () => {
    if (stage === undefined) throw new Error('unreachable: there is a stage, or the test is pending');
    // The old primary stays down: its return would double the duration.
    const { repair: _, ...fault } = KILL_AHEAD;
    const { trouble, answers, probes } = await strike(stage, fault, 0);
    expect(trouble).to.deep.equal([]);
    const [failover] = stage.failovers;
    if (failover === undefined) throw new Error('unreachable: the fault has struck');
    const { notReady, violations } = reportFailover(failover, answers, probes);
    // Only the long form checks the time until writes succeed, because other tests run in parallel here.
    expect(violations.filter((each) => each.startsWith('/readyz'))).to.deep.equal([]);
    expect(notReady, '/readyz 503 while there was no primary').to.be.above(0);
  });
});
