// `npm run bench -- against DIRECTORY`: compares the hubs of this checkout and another one in paired rounds.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseCount, parseCountOrZero } from '../../../cli/parse/parse-number.ts';
import { createProgram, parseCounts } from '../../support/parse-options.ts';
import { CASES_HELP, type CaseName, createCases, parseCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { measureCase, waitUntilIdle } from '../measure.ts';
import { PLANS, type Plan } from '../measurement-plan.ts';
import { reportPair } from '../report/pair.ts';
import { startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { makeLicenses } from '../test-data.ts';

const command = createProgram('npm run bench -- against')
  .description('Compares the hubs of this checkout and another one in paired rounds, five minutes a case.')
  .argument('<directory>', 'the other checkout, with installed packages')
  .option('--only <cases>', CASES_HELP, parseCases)
  .option('--rounds <number>', 'paired rounds; a difference of 5 % takes ten', parseCount, 10)
  .option('--latency-rounds <number>', 'rounds that measure latencies', parseCountOrZero, 0)
  .option(
    '--connections <numbers>',
    'comma-separated numbers of connections; --latency-rounds needs 1 and 32',
    parseCounts,
    [1, 32],
  )
  .parse();
const values = command.opts<{
  readonly only?: readonly CaseName[];
  readonly rounds: number;
  readonly latencyRounds: number;
  readonly connections: readonly number[];
}>();
const [checkout = ''] = command.args;
if (!existsSync(join(checkout, 'node_modules')) || !existsSync(join(checkout, 'cli/hubctl.js'))) {
  command.error(`error: ${resolve(checkout)} is no checkout with installed packages: run npm ci in it`);
}
const { connections } = values;
if (values.latencyRounds > 0 && !(connections.includes(1) && connections.includes(32))) {
  command.error('error: --latency-rounds needs --connections with 1 and 32');
}
const plan: Plan = {
  ...PLANS.full,
  rounds: values.rounds,
  connections,
  latencyRounds: values.latencyRounds,
};
await interruptible((start) => compareCheckouts(resolve(checkout), start));

async function compareCheckouts(directoryOfOther: string, start: Start): Promise<void> {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const provider = await begin(() =>
    startProgram(directory, { name: 'provider', file: '../provider.ts', env: {} }),
  );
  const options = { directory, redisUrl, providerUrl: `http://127.0.0.1:${provider.port}` };
  const hub = await begin(() => startHub(options));
  const other = await begin(() =>
    startHub({ ...options, name: 'other', hubctl: join(directoryOfOther, 'cli/hubctl.js') }),
  );
  const licenses = makeLicenses(plan.licenses);
  for (const { database } of [hub, other]) await database.addLicenses(licenses);
  for (const each of createCases(licenses).filter(({ name }) => values.only?.includes(name) ?? true)) {
    const untilIdle = (): Promise<void> => waitUntilIdle([hub, other], plan.idleTimeoutMs);
    const sides = await measureCase(each, [hub, other], { plan, untilIdle, onStep: () => {} });
    process.stdout.write(reportPair(each, connections, sides));
  }
}
