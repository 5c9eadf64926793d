// Kills the hub during payments: the short form of npm run fault -- kill.
import { expect } from 'chai';
import { killWhilePaying } from './runs/kill-run.ts';

const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);

describe('a hub killed while sessions are paid and refunded', function () {
  this.timeout(180_000); // a hub restarts within seconds, and its locks expire within ten more

  it(`counts each session once, to the minor unit, and grants what it paid for once (seed ${SEED})`, async () => {
    const report = await killWhilePaying({ sessions: 60, kills: 3, seed: SEED });
    expect(report.trouble).to.deep.equal([]);
    expect(report.refunds + report.reversals, 'refunds and reversals').to.be.above(0);
    expect(report).to.include({
      successes: 60 - report.reversals,
      usageLogs: 60,
      duplicates: 6,
      orders: 60 - report.ordersRefunded,
      licensesIssued: report.licensesBought,
      ourTotal: report.theirTotal,
      callbacksLost: 6,
    });
  });
});
