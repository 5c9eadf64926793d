// npm run fault -- kill: kills the hub during payments and refunds, and reports those that are lost, counted twice, or
// did not grant or take back what they paid for.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { prepareTemplate, startPostgres } from '../../support/postgres/databases.ts';
import { type KillReport, type KillRun, killWhilePaying } from './kill-run.ts';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
});
const run = {
  sessions: whole(values.sessions, 'sessions'),
  kills: whole(values.kills, 'kills'),
  seed: whole(values.seed, 'seed'),
};
const stopPostgres = await startPostgres();
try {
  await prepareTemplate();
  const report = await killWhilePaying(run);
  process.stdout.write(table(run, report));
  const { trouble, successes, reversals, orders, ordersRefunded, licensesIssued, licensesBought } = report;
  const isRight =
    trouble.length === 0 &&
    report.ourTotal === report.theirTotal &&
    successes + reversals === run.sessions &&
    orders + ordersRefunded === run.sessions &&
    licensesIssued === licensesBought;
  if (!isRight) process.exitCode = 1;
} finally {
  await stopPostgres();
}

function table({ sessions, kills, seed }: KillRun, report: KillReport): string {
  const rows: [string, string | number][] = [
    ['sessions paid', sessions],
    ['successes', report.successes],
    ['usage logs', report.usageLogs],
    ['duplicate payments', report.duplicates],
    ['reversals', report.reversals],
    ['refunds', report.refunds],
    ['orders fulfilled', report.orders],
    ['orders refunded', report.ordersRefunded],
    ['licenses bought', report.licensesBought],
    ['licenses issued by orders', report.licensesIssued],
    ['renewals and seats by orders', report.licensesChanged],
    ["the provider's total, less refunds", report.theirTotal],
    ["the hub's total, less refunds", report.ourTotal],
    ['callbacks lost', report.callbacksLost],
    ['callbacks answered 200', report.callbacksAnswered],
    ['callbacks refused or cut off', report.callbacksRefused],
    ['callbacks in the journal', report.callbacksJournaled],
    ['kills', kills],
    ['seconds', report.seconds],
    ['seed', seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(36)}${value}`);
  return `${[...lines, ...report.trouble.map((each) => `WRONG: ${each}`)].join('\n')}\n`;
}

function whole(text: string, option: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new Error(`--${option} has to be a whole number from 1`);
  return number;
}
