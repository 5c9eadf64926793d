// Profiles hub and peer in a case. This runs after all measurements, since profiling costs time.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Case } from '../cases.ts';
import { type CaseResult, prepareWindow } from '../measure.ts';
import { mainConnections, type Plan } from '../measurement-plan.ts';
import type { Server, SideName } from '../sides/side.ts';
import { microsByPart, type Part } from './by-part.ts';
import type { Profiler } from './inspector.ts';

/** Main-thread microseconds per request of one side at this number of connections. */
export type Profile = {
  readonly side: SideName;
  readonly connections: number;
  readonly requests: number;
  readonly micros: Partial<Record<Part, number>>;
};

export type ProfileOptions = {
  readonly plan: Plan;
  readonly untilIdle: () => Promise<void>;
  /** A directory for the complete profiles. */
  readonly keepIn: string | undefined;
};

export async function profileCase(
  each: Case,
  servers: readonly { readonly server: Server; readonly profiler: Profiler }[],
  measured: CaseResult,
  { plan, untilIdle, keepIn }: ProfileOptions,
): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (const connections of new Set([1, mainConnections(plan)])) {
    for (const { server, profiler } of servers) {
      const rate = measured[server.name]?.perSecond[connections] ?? 0;
      const load = await prepareWindow(each, server, { connections, seconds: plan.profileSeconds, rate });
      await untilIdle();
      await profiler.start();
      const { requests } = await load();
      const profile = await profiler.stop();
      const name = `${each.name}-${connections}-${server.name}.cpuprofile`;
      if (keepIn !== undefined) await writeFile(join(keepIn, name), JSON.stringify(profile));
      const micros = Object.entries(microsByPart(profile)).map(([part, sum]) => [part, sum / requests]);
      profiles.push({ side: server.name, connections, requests, micros: Object.fromEntries(micros) });
    }
  }
  return profiles;
}
