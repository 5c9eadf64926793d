// Starts everything, measures case after case, stops everything.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startPostgres } from '../test/support/postgres.ts';
import { findRedis, foundRedis } from '../test/support/redis.ts';
import { checkAgreement } from './agreement.ts';
import { type CaseName, createCases } from './cases.ts';
import type { Start } from './interruptible.ts';
import { describeMachine, howBusy } from './machine.ts';
import { measureCase, untilCalm } from './measure.ts';
import { mainConnections, type Plan } from './plan.ts';
import { connectProfiler } from './profile/inspector.ts';
import { type Profile, profileCase } from './profile/profile-case.ts';
import { busyWarning, type Results } from './report/results.ts';
import { startChild } from './sides/child.ts';
import { startBareHttp, startBareSql } from './sides/floor.ts';
import { RATE_PER_MINUTE, startHub } from './sides/hub.ts';
import { startPeer } from './sides/peer.ts';
import { makeLicenses } from './stock.ts';

export type BenchOptions = {
  readonly plan: Plan;
  /** Undefined: all. */
  readonly only: readonly CaseName[] | undefined;
  /** A directory for the whole CPU profiles. */
  readonly keepProfilesIn: string | undefined;
  /** Told what is going on. */
  readonly say: (line: string) => void;
  /** Told how far it is with that. */
  readonly onStep: (done: number, total: number) => void;
};

/** @throws Error if a server does not start, or answers anything but 200 */
export async function runBench(
  { plan, only, keepProfilesIn, say, onStep }: BenchOptions,
  start: Start,
): Promise<Results> {
  const busy = await howBusy();
  const directory = await start(
    () => mkdtemp(join(tmpdir(), 'hub-bench-')),
    (path) => rm(path, { recursive: true, force: true }),
  );
  await start(startPostgres, (stop) => stop());
  await start(findRedis, (stop) => stop());
  const stop = (child: { stop(): Promise<void> }): Promise<void> => child.stop();
  const provider = await start(
    () =>
      startChild({
        name: 'the provider',
        args: [join(import.meta.dirname, 'provider.ts')],
        env: {},
        logFile: join(directory, 'provider.log'),
        readyMark: '"ready"',
      }),
    stop,
  );
  const providerUrl = `http://127.0.0.1:${JSON.parse(provider.ready).port}`;
  const hub = await start(() => startHub({ directory, redisUrl: foundRedis(), providerUrl }), stop);
  const peer = await start(() => startPeer({ directory, providerUrl }), stop);
  const bareHttp = await start(() => startBareHttp(directory, hub.publicKeyPem), stop);
  const bareSql = await start(() => startBareSql(directory), stop);

  const machine = await describeMachine(peer.databaseUrl, busy);
  const warning = busyWarning(machine);
  if (warning !== undefined) say(warning);
  const licenses = makeLicenses(plan.licenses);
  for (const { warehouse } of [hub, peer, bareSql]) await warehouse?.addLicenses(licenses);
  const cases = createCases(licenses).filter(({ name }) => only?.includes(name) ?? true);
  await checkAgreement(cases, hub, peer);

  const calm = (): Promise<void> => untilCalm([hub, peer]);
  const measured = [];
  for (const each of cases) {
    say(`measuring: ${each.title}`);
    const sides = [hub, peer, each.floor === 'http' ? bareHttp : bareSql];
    measured.push({ each, sides: await measureCase(each, sides, { plan, calm, onStep }) });
  }
  // An inspector that is open may cost time: only now.
  const profiled = [];
  for (const server of [hub, peer]) {
    const connect = async () => connectProfiler(await server.inspect());
    profiled.push({ server, profiler: await start(connect, async (profiler) => profiler.close()) });
  }
  say('profiling');
  const profiles: Profile[][] = [];
  for (const { each, sides } of measured) {
    profiles.push(await profileCase(each, profiled, sides, { plan, calm, keepIn: keepProfilesIn }));
    onStep(profiles.length, cases.length);
  }
  return {
    plan: plan.name,
    at: new Date().toISOString(),
    machine,
    hub: { ratePerMinute: RATE_PER_MINUTE, countsIn: await countsIn(foundRedis()) },
    connections: mainConnections(plan),
    cases: measured.map(({ each: { name, title, mark, floor }, sides }, index) => ({
      name,
      title,
      mark,
      floor,
      sides,
      profiles: profiles[index] ?? [],
    })),
  };
}

/** Where the hub counts requests and guesses. */
async function countsIn(redisUrl: string): Promise<string> {
  if (redisUrl === '') return 'memory';
  const redis = new Redis(redisUrl);
  try {
    return `Redis ${/redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? ''}`.trim();
  } finally {
    redis.disconnect();
  }
}
