// npm run fault -- pooler: restarts two hubs behind PgBouncer repeatedly under mixed load. No request may
// fail.
import { parseArgs } from 'node:util';
import { startPostgres } from '../../support/postgres/databases.ts';
import { runBehindPooler } from './pooler-run.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    restarts: { type: 'string', default: '50' },
  },
});
const [requests, restarts] = [Number(values.requests), Number(values.restarts)];
if (!(requests >= 1) || !(restarts >= 0))
  throw new Error('--requests and --restarts have to be whole numbers');
const stopPostgres = await startPostgres();
try {
  const { trouble, ...figures } = await runBehindPooler({ requests, restarts });
  for (const [name, value] of Object.entries({ ...figures, failures: trouble.length })) {
    process.stdout.write(`${name.padEnd(15)}${value}\n`);
  }
  for (const each of trouble.slice(0, 100)) process.stdout.write(`WRONG: ${each}\n`);
  if (trouble.length > 0) process.exitCode = 1;
} finally {
  await stopPostgres();
}
