// npm run fault -- kill: kills the hub during payments and refunds. Reports those that are lost or counted twice, payments
// that did not grant a license, and refunds that did not take it back.

import { parseCount } from '../../../cli/parse/parse-number.ts';
import { createProgram, seedOption } from '../../support/parse-options.ts';
import { prepareTemplate, startPostgres } from '../../support/postgres/databases.ts';
import { type KillReport, type KillRun, killWhilePaying } from './kill-run.ts';

const run = createProgram('npm run fault -- kill')
  .description('Kills the hub during payments and refunds, and reports those that are lost or counted twice.')
  .option('--sessions <number>', 'sessions to pay and refund', parseCount, 2_000)
  .option('--kills <number>', 'times that the hub is killed', parseCount, 40)
  .addOption(seedOption('repeats the random choices of a run'))
  .parse()
  .opts<KillRun>();
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
