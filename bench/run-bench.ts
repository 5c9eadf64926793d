// Starts everything, measures case after case, stops everything.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres.ts';
import { findRedis, foundRedis } from '../test/support/redis.ts';
import { checkAgreement } from './agreement.ts';
import { type CaseName, createCases } from './cases.ts';
import type { Start } from './interruptible.ts';
import { describeMachine } from './machine.ts';
import { measureCase, untilCalm } from './measure.ts';
import { mainConnections, type Plan } from './plan.ts';
import type { MeasuredCase, Results } from './report/results.ts';
import { startChild } from './sides/child.ts';
import { bareSql, startBareHttp } from './sides/floor.ts';
import { startHub } from './sides/hub.ts';
import { startPeer } from './sides/peer.ts';
import { makeLicenses } from './stock.ts';

export type BenchOptions = {
  readonly plan: Plan;
  /** Undefined: all. */
  readonly only: readonly CaseName[] | undefined;
  /** What node is given for the hub, besides the program. */
  readonly nodeArgs: readonly string[];
  /** Told what is going on. */
  readonly say: (line: string) => void;
};

/** @throws Error if a server does not start, or answers anything but 200 */
export async function runBench({ plan, only, nodeArgs, say }: BenchOptions, start: Start): Promise<Results> {
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
  const hub = await start(() => startHub({ directory, redisUrl: foundRedis(), providerUrl, nodeArgs }), stop);
  const peer = await start(() => startPeer({ directory, providerUrl }), stop);
  const bareHttp = await start(() => startBareHttp(directory, hub.publicKeyPem), stop);

  const machine = await describeMachine(peer.databaseUrl);
  const licenses = makeLicenses(plan.licenses);
  for (const { warehouse } of [hub, peer]) await warehouse.addLicenses(licenses);
  const cases = createCases(licenses).filter(({ name }) => only?.includes(name) ?? true);
  await checkAgreement(cases, hub, peer);

  const calm = (): Promise<void> => untilCalm([hub.pid, peer.pid]);
  const measured: MeasuredCase[] = [];
  for (const each of cases) {
    const { name, title, mark, floor } = each;
    say(`measuring: ${title}`);
    const sides = floor === 'http' ? [hub, peer, bareHttp] : [hub, peer];
    const found = await measureCase(each, sides, plan, calm);
    if (floor === 'sql') await each.prepare(peer.warehouse, 0);
    const bareSqlPerSecond =
      floor === 'sql' ? await bareSql(peer.databaseUrl, name, plan.seconds) : undefined;
    measured.push({ name, title, mark, sides: found, bareSqlPerSecond });
  }
  const at = new Date().toISOString();
  return { plan: plan.name, at, machine, connections: mainConnections(plan), cases: measured };
}
