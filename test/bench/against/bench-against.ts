// `npm run bench -- against DIRECTORY`: compares the hubs of this checkout and another one in paired rounds.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Case, type CaseName, createCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { type CaseResult, measureCase, untilCalm } from '../measure.ts';
import { PLANS, type Plan } from '../measurement-plan.ts';
import { median } from '../median.ts';
import { startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { makeLicenses } from '../test-data.ts';

const CONNECTIONS = [1, 32];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    /** Paired rounds. Detecting a difference of 5 % takes ten. */
    rounds: { type: 'string', default: '10' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the directory of the other checkout');
const plan: Plan = {
  ...PLANS.full,
  rounds: Number(values.rounds),
  connections: CONNECTIONS,
  latencyRounds: 0,
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
    process.stdout.write(report(each, sides));
  }
}

/** The ratio of this checkout to the other in each round. */
function report({ title }: Case, { hub, other: before }: CaseResult): string {
  if (hub === undefined || before === undefined) return '';
  const lines = CONNECTIONS.map((connections) => {
    const pairs = (hub.rounds[connections] ?? []).map(
      (rate, round) => rate / (before.rounds[connections]?.[round] ?? 0),
    );
    const cpu = (side: typeof hub): string => {
      const cost = side.cost[connections];
      if (cost === undefined) return '–';
      return `${micros(cost.cpuSeconds)} + ${micros(cost.postgresCpuSeconds)}`;
    };
    const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
    return [
      `  ${connections} connections: throughput ${median(pairs).toFixed(3)} of the other`,
      `(${low.toFixed(2)} to ${high.toFixed(2)} in ${pairs.length} rounds;`,
      `${Math.round(hub.perSecond[connections] ?? 0)} and ${Math.round(before.perSecond[connections] ?? 0)} a second),`,
      `CPU µs a request, server + PostgreSQL: ${cpu(hub)} and ${cpu(before)}`,
    ].join(' ');
  });
  return `${[title, ...lines].join('\n')}\n`;
}

/** Converts seconds per 10 000 requests to microseconds per request. */
function micros(seconds: number): string {
  return (seconds * 100).toFixed(0);
}
