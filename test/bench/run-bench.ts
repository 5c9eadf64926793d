// Starts the servers, measures and profiles each case, and stops the servers.
import { mkdir } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { COMPARED_TABLES, checkAgreement } from './agreement.ts';
import { type CaseName, createCases } from './cases.ts';
import type { Start } from './interruptible.ts';
import { describeMachine, howBusy } from './machine.ts';
import { measureCase, waitUntilIdle } from './measure.ts';
import { mainConnections, type Plan } from './measurement-plan.ts';
import { connectProfiler } from './profile/inspector.ts';
import { type Profile, profileCase } from './profile/profile-case.ts';
import { busyWarning, type Results } from './report/results.ts';
import { startProgram } from './sides/child.ts';
import { startEnvironment } from './sides/environment.ts';
import { startBareHttp, startBareSql } from './sides/floor.ts';
import { RATE_PER_MINUTE, startHub } from './sides/hub.ts';
import { startBarePeer, startPeer } from './sides/peer.ts';
import { makeLicenses } from './test-data.ts';

export type BenchOptions = {
  readonly plan: Plan;
  /** Undefined: all cases. */
  readonly only: readonly CaseName[] | undefined;
  /** A directory for the complete CPU profiles. */
  readonly keepProfilesIn: string | undefined;
  /** Receives a line at the start of each phase. */
  readonly say: (line: string) => void;
  /** Receives the progress of the current phase. */
  readonly onStep: (done: number, total: number) => void;
};

/** @throws Error if a server does not start, or responds with a status other than 200 */
export async function runBench(
  { plan, only, keepProfilesIn, say, onStep }: BenchOptions,
  start: Start,
): Promise<Results> {
  if (keepProfilesIn !== undefined) await mkdir(keepProfilesIn, { recursive: true });
  const begun = performance.now();
  const busy = await howBusy();
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const provider = await begin(() =>
    startProgram(directory, { name: 'provider', file: '../provider.ts', env: {} }),
  );
  const providerUrl = `http://127.0.0.1:${provider.port}`;
  const hub = await begin(() => startHub({ directory, redisUrl, providerUrl }));
  const peer = await begin(() => startPeer({ directory, providerUrl, redisUrl }));
  const barePeer = await begin(() => startBarePeer({ directory, providerUrl }));
  const bareHttp = await begin(() => startBareHttp(directory, hub.publicKeyPem));
  const bareSql = await begin(() => startBareSql(directory));

  const machine = await describeMachine(peer.databaseUrl, busy);
  const warning = busyWarning(machine);
  if (warning !== undefined) say(warning);
  const licenses = makeLicenses(plan.licenses);
  for (const { database } of [hub, peer, barePeer, bareSql]) await database?.addLicenses(licenses);
  const cases = createCases(licenses).filter(({ name }) => only?.includes(name) ?? true);
  await checkAgreement(cases, hub, peer, COMPARED_TABLES);
  await checkAgreement(cases, hub, barePeer, []);

  const untilIdle = (): Promise<void> => waitUntilIdle([hub, peer, barePeer], plan.idleTimeoutMs);
  const measured = [];
  for (const each of cases) {
    say(`measuring: ${each.title}`);
    const sides = [hub, peer, barePeer, each.floor === 'http' ? bareHttp : bareSql];
    measured.push({ each, sides: await measureCase(each, sides, { plan, untilIdle, onStep }) });
  }
  // An open inspector may cost time, so profiling comes after all measurements.
  const profiled = [];
  for (const server of [hub, peer]) {
    const connect = async () => connectProfiler(await server.inspect());
    profiled.push({ server, profiler: await start(connect, async (profiler) => profiler.close()) });
  }
  say('profiling');
  const profiles: Profile[][] = [];
  for (const { each, sides } of measured) {
    profiles.push(await profileCase(each, profiled, sides, { plan, untilIdle, keepIn: keepProfilesIn }));
    onStep(profiles.length, cases.length);
  }
  return {
    plan: plan.name,
    at: new Date().toISOString(),
    seconds: (performance.now() - begun) / 1_000,
    machine,
    hub: { ratePerMinute: RATE_PER_MINUTE, countsIn: await countsIn(redisUrl) },
    connections: mainConnections(plan),
    cases: measured.map(({ each: { name, title, target, floor }, sides }, index) => ({
      name,
      title,
      target,
      floor,
      sides,
      profiles: profiles[index] ?? [],
    })),
  };
}

/** Where the hub stores its rate-limit and guess counters. */
async function countsIn(redisUrl: string): Promise<string> {
  if (redisUrl === '') return 'memory';
  const redis = new Redis(redisUrl);
  try {
    return `Redis ${/redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? ''}`.trim();
  } finally {
    redis.disconnect();
  }
}
