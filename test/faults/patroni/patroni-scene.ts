// Two hubs on a PostgreSQL cluster under Patroni. The primary is killed, frozen or replaced by a switchover.

import { setTimeout as pause } from 'node:timers/promises';
import { startCluster } from '../scenes/cluster.ts';
import type { Fault, Stage } from '../scenes/scene.ts';
import type { Failover } from './failover-report.ts';
import { missingPackages, type PatroniCluster, type PatroniNode, startPatroni } from './patroni-cluster.ts';

export type PatroniStage = Stage & {
  readonly patroni: PatroniCluster;
  /** The failovers so far, in order. */
  readonly failovers: (Failover & { readonly old: PatroniNode })[];
};

const KILL: Fault<PatroniStage> = failover({
  name: 'kill',
  what: '`kill -9` of the primary: Patroni, PostgreSQL and all of its processes',
  strike: (_, primary) => primary.kill(),
  repair: async (_, old) => old.start(),
});

/**
 * Long enough for many requests. Without synchronous replication, they would be acknowledged and then lost.
 */
const AHEAD_MS = 500;

export const KILL_AHEAD: Fault<PatroniStage> = failover({
  name: 'kill-ahead',
  what: 'the same while the standby lags by half a second',
  async prepare(_, primary) {
    await primary.freezeSenders();
    await pause(AHEAD_MS);
  },
  strike: (_, primary) => primary.kill(),
  repair: async (_, old) => old.start(),
});

const FREEZE: Fault<PatroniStage> = failover({
  name: 'freeze',
  what: 'the primary is frozen (`SIGSTOP`), Patroni and PostgreSQL: connections stay open, nothing answers',
  strike: (_, primary) => primary.freeze(),
  repair: (_, old) => old.thaw(),
});

const SWITCHOVER: Fault<PatroniStage> = failover({
  name: 'switchover',
  what: '`patronictl switchover`: the primary and the standby change roles in order',
  strike: ({ patroni }, primary) => patroni.switchover(primary),
  repair: async () => {},
});

export const PATRONI_FAULTS = [KILL, KILL_AHEAD, FREEZE, SWITCHOVER] as const;

/**
 * Opens the scene, or resolves with undefined on a machine without the required programs.
 * @param ttl seconds until the lock of a dead primary expires; the default is the value on the page
 * @param way how the hubs reach the primary: through HAProxy, or by a list of both servers
 */
export async function openPatroni(
  ttl?: number,
  way: 'haproxy' | 'hosts' = 'haproxy',
): Promise<PatroniStage | undefined> {
  if (process.platform !== 'linux' || missingPackages() !== undefined) return undefined;
  await using undo = new AsyncDisposableStack();
  const patroni = await startPatroni(ttl);
  undo.defer(() => patroni.stop());
  const environment = { DATABASE_URL: way === 'hosts' ? patroni.hostList : patroni.databaseUrl };
  const cluster = await startCluster({ hubs: 2, databaseUrl: patroni.databaseUrl, environment });
  undo.defer(() => cluster.stop());
  const resources = undo.move();
  return { cluster, patroni, failovers: [], close: () => resources.disposeAsync() };
}

type Failure = {
  readonly name: string;
  readonly what: string;
  readonly prepare?: (stage: PatroniStage, primary: PatroniNode) => Promise<void>;
  readonly strike: (stage: PatroniStage, primary: PatroniNode) => Promise<void>;
  readonly repair: (stage: PatroniStage, old: PatroniNode) => Promise<void>;
};

/**
 * A fault that lasts until Patroni has a new leader. The old one becomes a standby again before the fault
 * ends.
 */
function failover({ name, what, prepare, strike, repair }: Failure): Fault<PatroniStage> {
  return {
    name,
    what,
    outage: 'database',
    async strike(stage) {
      const { patroni, failovers } = stage;
      const old = await patroni.leader();
      if (old === undefined) throw new Error(`there is no leader\n${patroni.output()}`);
      await prepare?.(stage, old);
      const begunAt = performance.now();
      const striking = strike(stage, old).then(() => performance.now());
      const [struckAt, elected] = await Promise.all([striking, patroni.newLeader(old)]);
      failovers.push({ old, begunAt, struckAt: Math.min(struckAt, elected.at), electedAt: elected.at });
    },
    async repair(stage) {
      const last = stage.failovers.at(-1);
      if (last !== undefined) await repair(stage, last.old);
      await stage.patroni.inSync().catch((error) => {
        throw new Error(`${error.message}\n${stage.patroni.output()}`, { cause: error });
      });
    },
  };
}
