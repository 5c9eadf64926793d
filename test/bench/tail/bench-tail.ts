// `npm run bench -- tail`: shows what the slowest requests wait for, compared with the median ones.
import { parseCount } from '../../../cli/parse/parse-number.ts';
import { createProgram, parsePositive } from '../../support/parse-options.ts';
import { CASES_HELP, type Case, type CaseName, createCases, parseCases } from '../cases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { waitUntilIdle } from '../measure.ts';
import { mainConnections, PLANS, RATE_WITH_PAUSES } from '../measurement-plan.ts';
import { connectProfiler } from '../profile/inspector.ts';
import { startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { startPeer } from '../sides/peer.ts';
import { makeLicenses } from '../test-data.ts';
import { describeProfile, describeTimeline } from './describe-tail.ts';
import { observeRequests, type TimedRequest } from './observe-requests.ts';
import { traceScheduler } from './trace-scheduler.ts';

type Options = {
  readonly only?: readonly CaseName[];
  readonly seconds: number;
  readonly pauses: boolean;
  readonly connections: number;
  readonly rate: number;
  readonly scheduler?: true;
};

const values = createProgram('npm run bench -- tail')
  .description('Shows what the slowest requests wait for, compared with the median ones.')
  .option('--only <cases>', CASES_HELP, parseCases)
  .option('--seconds <number>', 'duration of the load of each case and side', parsePositive, 30)
  .option('--no-pauses', 'each caller sends its next request when it has the response, and --rate is ignored')
  .option('--connections <number>', 'callers', parseCount, 1)
  .option('--rate <number>', 'requests a second of all callers', parsePositive, RATE_WITH_PAUSES)
  .option('--scheduler', 'traces which threads and processes run, instead of functions; needs perf and root')
  .parse()
  .opts<Options>();
/** Durations of the loads before the measurement. V8 compiles hot code in them. */
const WARM_UP_SECONDS = { many: 4, measured: 8 };
/** Duration of the load after ANALYZE and before the measurement. PostgreSQL plans its statements in this time. */
const PLANNING_SECONDS = 1;
/** Requests to prepare for each second without pauses. If they run out, the load ends early. */
const PREPARED_PER_SECOND = { many: 12_000, measured: 3_000 };
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
  const describe = async (each: Case, { port, pid, database, inspect }: (typeof servers)[number]) => {
    const load = { port, pid, rate, connections };
    /** Inserts test data, and analyzes the tables, because the warm-up changes the statistics. */
    const prepare = async (
      wanted: typeof load,
      duration: number,
      perSecond = PREPARED_PER_SECOND.measured,
    ) => {
      const next = await each.prepare(database, Math.ceil(duration * (wanted.rate ?? perSecond)));
      await waitUntilIdle(servers, plan.idleTimeoutMs);
      return (interval: number) => observeRequests({ ...wanted, next, seconds: interval });
    };
    const many = { ...load, connections: mainConnections(plan), rate: undefined };
    const warmUp = await prepare(many, WARM_UP_SECONDS.many, PREPARED_PER_SECOND.many);
    await warmUp(WARM_UP_SECONDS.many);
    const warmUpMeasured = await prepare(load, WARM_UP_SECONDS.measured);
    await warmUpMeasured(WARM_UP_SECONDS.measured);
    const observe = await prepare(load, PLANNING_SECONDS + seconds);
    await observe(PLANNING_SECONDS);
    if (!values.scheduler) return describeFunctions(() => observe(seconds), await inspect());
    const processes = { server: pid, provider: provider.pid };
    const trace = await begin(() => traceScheduler({ directory, ...processes }));
    const requests = await observe(seconds);
    return describeTimeline(requests, await trace.timeline());
  };
  for (const each of createCases(licenses).filter(({ name }) => values.only?.includes(name) ?? true)) {
    for (const server of servers) {
      process.stdout.write(`${each.title}: ${server.name}\n${await describe(each, server)}\n`);
    }
  }
});

async function describeFunctions(observe: () => Promise<TimedRequest[]>, inspector: string): Promise<string> {
  const profiler = await connectProfiler(inspector);
  await profiler.start();
  const requests = await observe();
  const profile = await profiler.stop();
  profiler.close();
  return describeProfile(requests, profile);
}
