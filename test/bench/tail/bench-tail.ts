// `npm run bench -- tail`: shows what the slowest requests wait for, compared with the median ones.
import { parseCount } from '../../../cli/parse/parse-number.ts';
import { createProgram, parsePositive } from '../../support/parse-options.ts';
import { CASES_HELP, type CaseName, createCases, parseCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { untilCalm } from '../measure.ts';
import { PLANS, SINGLE_RATE } from '../measurement-plan.ts';
import { connectProfiler } from '../profile/inspector.ts';
import { startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { startPeer } from '../sides/peer.ts';
import { makeLicenses } from '../test-data.ts';
import { describeTail } from './describe-tail.ts';
import { observeRequests } from './observe-requests.ts';

type Options = {
  readonly only?: readonly CaseName[];
  readonly seconds: number;
  readonly pauses: boolean;
  readonly connections: number;
  readonly rate: number;
};

const values = createProgram('npm run bench -- tail')
  .description('Shows what the slowest requests wait for, compared with the median ones.')
  .option('--only <cases>', CASES_HELP, parseCases)
  .option('--seconds <number>', 'duration of the load of each case and side', parsePositive, 30)
  .option('--no-pauses', 'each caller sends its next request when it has the response, and --rate is ignored')
  .option('--connections <number>', 'callers', parseCount, 1)
  .option('--rate <number>', 'requests a second of all callers', parsePositive, SINGLE_RATE)
  .parse()
  .opts<Options>();
/** Load before each profile: V8 compiles, and PostgreSQL plans statements again after ANALYZE. */
const WARM_UP_SECONDS = 5;
/** Requests to prepare, if they are sent without pauses. The load ends early if there are too few. */
const PREPARED_PER_SECOND = 3_000;
const plan = PLANS.full;
const { seconds, connections } = values;
const rate = values.pauses ? values.rate : undefined;

await interruptible(async (start: Start) => {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const provider = await begin(() =>
    startProgram(directory, { name: 'provider', file: '../provider.ts', env: {} }),
  );
  const options = { directory, redisUrl, providerUrl: `http://127.0.0.1:${provider.port}` };
  const servers = [await begin(() => startHub(options)), await begin(() => startPeer(options))];
  const licenses = makeLicenses(plan.licenses);
  for (const { database } of servers) await database.addLicenses(licenses);
  for (const each of createCases(licenses).filter(({ name }) => values.only?.includes(name) ?? true)) {
    for (const { name, port, pid, database, inspect } of servers) {
      const prepared = Math.ceil((WARM_UP_SECONDS + seconds) * (rate ?? PREPARED_PER_SECOND));
      const next = await each.prepare(database, prepared);
      await untilCalm(servers, plan.calmWithinMs);
      const load = { port, pid, next, rate, connections };
      await observeRequests({ ...load, seconds: WARM_UP_SECONDS });
      const profiler = await connectProfiler(await inspect());
      await profiler.start();
      const requests = await observeRequests({ ...load, seconds });
      const profile = await profiler.stop();
      profiler.close();
      process.stdout.write(`${each.title}: ${name}\n${describeTail(requests, profile)}\n`);
    }
  }
});
