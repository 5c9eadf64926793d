// npm run fault -- pooler: restarts two hubs behind PgBouncer repeatedly under mixed load. No request may
// fail.
import { parseCount, parseCountOrZero } from '../../../cli/parse/parse-number.ts';
import { createProgram } from '../../support/parse-options.ts';
import { startPostgres } from '../../support/postgres/databases.ts';
import { runBehindPooler } from './pooler-run.ts';

const options = createProgram('npm run fault -- pooler')
  .description('Restarts two hubs behind PgBouncer repeatedly under mixed load.')
  .option('--requests <number>', 'requests to send', parseCount, 20_000)
  .option('--restarts <number>', 'times that a hub is restarted', parseCountOrZero, 50)
  .parse()
  .opts<Readonly<Record<'requests' | 'restarts', number>>>();
const stopPostgres = await startPostgres();
try {
  const { trouble, ...figures } = await runBehindPooler(options);
  for (const [name, value] of Object.entries({ ...figures, failures: trouble.length })) {
    process.stdout.write(`${name.padEnd(15)}${value}\n`);
  }
  for (const each of trouble.slice(0, 100)) process.stdout.write(`WRONG: ${each}\n`);
  if (trouble.length > 0) process.exitCode = 1;
} finally {
  await stopPostgres();
}
