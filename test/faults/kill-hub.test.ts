// Kills the hub during payments: the short form of npm run fault -- kill.
import { expect } from 'chai';
import { IS_LONG } from '../support/long.ts';
import { killWhilePaying } from './runs/kill-run.ts';

const [SESSIONS, KILLS] = IS_LONG ? [60, 3] : [30, 2];
/** Every tenth session is paid twice, and every tenth callback is lost. */
const TENTH = SESSIONS / 10;
const SEED = Number(process.env['HUB_TEST_SEED'] ?? Date.now() % 2 ** 31);

describe('a hub killed while sessions are paid and refunded', () => {
  it(`counts each session once, to the minor unit, and grants what it paid for once (seed ${SEED})`, async () => {
    const report = await killWhilePaying({ sessions: SESSIONS, kills: KILLS, seed: SEED });
    expect(report.trouble).to.deep.equal([]);
    expect(report.refunds + report.reversals, 'refunds and reversals').to.be.above(0);
    expect(report).to.include({
      successes: SESSIONS - report.reversals,
      usageLogs: SESSIONS,
      duplicates: TENTH,
      orders: SESSIONS - report.ordersRefunded,
      licensesIssued: report.licensesBought,
      ourTotal: report.theirTotal,
      callbacksLost: TENTH,
    });
  });
});
