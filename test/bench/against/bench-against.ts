// `npm run bench -- against DIRECTORY`: compares the hubs of this checkout and another one in paired rounds.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type CaseName, createCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { measureCase, untilCalm } from '../measure.ts';
import { PLANS, type Plan } from '../measurement-plan.ts';
import { reportPair } from '../report/pair.ts';
import { startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { makeLicenses } from '../test-data.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    /** Paired rounds. Detecting a difference of 5 % takes ten. */
    rounds: { type: 'string', default: '10' },
    /** Rounds that measure latencies at half of the other hub's peak and from one caller. */
    'latency-rounds': { type: 'string', default: '0' },
    /** Loads of throughput. Latencies at half of the peak need 32. */
    connections: { type: 'string', default: '1,32' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the directory of the other checkout');
if (!existsSync(join(other, 'node_modules')) || !existsSync(join(other, 'cli/hubctl.js'))) {
  throw new Error(`${resolve(other)} is no checkout with installed packages: run npm ci in it`);
}
const connections = values.connections.split(',').map(Number);
const plan: Plan = {
  ...PLANS.full,
  rounds: Number(values.rounds),
  connections,
  latencyRounds: Number(values['latency-rounds']),
};
await interruptible((start) => compareCheckouts(resolve(other), start));

async function compareCheckouts(directoryOfOther: string, start: Start): Promise<void> {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const provider = await begin(() =>
    startProgram(directory, { name: 'provider', file: '../provider.ts', env: {} }),
  );
  const options = { directory, redisUrl, providerUrl: `http://127.0.0.1:${provider.port}` };
  const hub = await begin(() => startHub(options));
  const before = await begin(() =>
    startHub({ ...options, name: 'other', hubctl: join(directoryOfOther, 'cli/hubctl.js') }),
  );
  const licenses = makeLicenses(plan.licenses);
  for (const { database } of [hub, before]) await database.addLicenses(licenses);
  const only = values.only?.split(',') as CaseName[] | undefined;
  for (const each of createCases(licenses).filter(({ name }) => only?.includes(name) ?? true)) {
    const calm = (): Promise<void> => untilCalm([hub, before], plan.calmWithinMs);
    const sides = await measureCase(each, [hub, before], { plan, calm, onStep: () => {} });
    process.stdout.write(reportPair(each, connections, sides));
  }
}
