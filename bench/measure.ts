// Measures one case: every side in turn, round after round, so that what disturbs the machine disturbs all of them.
import { setTimeout } from 'node:timers/promises';
import type { Case } from './cases.ts';
import { closedLoop } from './load/closed-loop.ts';
import { type Latency, openLoop } from './load/open-loop.ts';
import { mainConnections, type Plan } from './plan.ts';
import { forgetPeak, usageOf } from './sides/process-cost.ts';
import type { Side, SideName } from './sides/side.ts';
import { warmUp } from './warm-up.ts';

export type Cost = {
  /** CPU seconds that the server's process used for 10 000 requests, what it put off until afterwards included. */
  readonly cpuSeconds: number;
  /** MiB resident at most while they were served. */
  readonly peakMiB: number;
};

export type SideResult = {
  /** Requests per second by number of connections, the median of the rounds. */
  readonly perSecond: Readonly<Record<number, number>>;
  /** Of each round. */
  readonly rounds: Readonly<Record<number, readonly number[]>>;
  /** Of each window while it was warmed up, the first one first. */
  readonly warmUp: readonly number[];
  /** At 70 % of this side's own peak; of several rounds, the one in the middle by its p99. */
  readonly latency: Latency;
  /** Undefined where the system does not tell. */
  readonly cost: Cost | undefined;
  /** Busiest the load generator was, of 1. */
  readonly generatorBusy: number;
};

export type CaseResult = Readonly<Partial<Record<SideName, SideResult>>>;

const LATENCY_LOAD = 0.7;
const LATENCY_CONNECTIONS = 256;
/** For the first window of a case: a window for which too few requests were prepared only ends sooner. */
const PER_SECOND_AT_FIRST = 4_000;
/** Prepared for a window: so many times what the last one like it took. */
const SPARE = 1.5;

/** `calm` waits until no server works off anything any more. */
export async function measureCase(
  { prepare }: Case,
  sides: readonly Side[],
  plan: Plan,
  calm: () => Promise<void>,
): Promise<CaseResult> {
  const run = async (
    { port, warehouse }: Side,
    load: { connections: number; seconds: number; rate: number },
  ) => {
    const { connections, seconds, rate } = load;
    const next = await prepare(warehouse, Math.ceil(seconds * rate * SPARE));
    await calm();
    return closedLoop({ port, connections, seconds, next });
  };

  const collected = new Map(sides.map((side) => [side, newCollection()]));
  const collectionOf = (side: Side) => collected.get(side) ?? newCollection();
  const connections = mainConnections(plan);
  for (const side of sides) {
    const rates = await warmUp(plan.warmUp, async (seconds, rate = PER_SECOND_AT_FIRST) => {
      const { perSecond } = await run(side, { connections, seconds, rate });
      return perSecond;
    });
    collectionOf(side).warmUp.push(...rates);
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const connections of plan.connections) {
      // The other way round each time: what one leaves to the database to do falls upon the next.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const { rates, warmUp, costs, busy } = collectionOf(side);
        const earlier = rates.get(connections) ?? [];
        const rate = Math.max(...(earlier.length > 0 ? earlier : warmUp));
        forgetPeak(side.pid);
        const before = usageOf(side.pid);
        const measured = await run(side, { connections, seconds: plan.seconds, rate });
        rates.set(connections, [...earlier, measured.perSecond]);
        busy.push(measured.generatorBusy);
        if (connections !== mainConnections(plan)) continue;
        await calm();
        const after = usageOf(side.pid);
        if (before === undefined || after === undefined) continue;
        const cpuSeconds = ((after.cpuSeconds - before.cpuSeconds) * 10_000) / measured.requests;
        costs.push({ cpuSeconds, peakMiB: after.peakMiB });
      }
    }
  }
  for (let round = 0; round < plan.latencyRounds; round++) {
    for (const side of sides) {
      const { rates, latencies } = collectionOf(side);
      const rate = LATENCY_LOAD * Math.max(...[...rates.values()].map(median));
      const seconds = plan.latencySeconds;
      const next = await prepare(side.warehouse, Math.ceil(rate * seconds));
      await calm();
      latencies.push(
        await openLoop({ port: side.port, connections: LATENCY_CONNECTIONS, seconds, next, rate }),
      );
    }
  }
  return Object.fromEntries(sides.map((side) => [side.name, resultOf(collectionOf(side))]));
}

type Collection = {
  readonly rates: Map<number, number[]>;
  readonly warmUp: number[];
  readonly latencies: Latency[];
  readonly costs: Cost[];
  /** The generator's share of its time, of each measurement. */
  readonly busy: number[];
};

function newCollection(): Collection {
  return { rates: new Map(), warmUp: [], latencies: [], costs: [], busy: [] };
}

function resultOf({ rates, warmUp, latencies, costs, busy }: Collection): SideResult {
  return {
    perSecond: Object.fromEntries([...rates].map(([connections, each]) => [connections, median(each)])),
    rounds: Object.fromEntries(rates),
    warmUp,
    latency: middle(latencies, ({ p99 }) => p99),
    cost: costs.length === 0 ? undefined : middle(costs, ({ cpuSeconds }) => cpuSeconds),
    generatorBusy: Math.max(...busy),
  };
}

function median(values: readonly number[]): number {
  return middle(values, (value) => value);
}

/** Of an even number, the lower one in the middle. */
function middle<T>(items: readonly T[], by: (item: T) => number): T {
  const sorted = [...items].sort((one, other) => by(one) - by(other));
  return sorted[Math.floor((sorted.length - 1) / 2)] as T; // there is at least one
}

const CALM_CPU_SHARE = 0.05;
const LOOK_EVERY_MS = 100;
const CALM_WITHIN_MS = 5_000;

/** Waits until none of the processes uses the CPU any more: jobs, chains and caches that a measurement left behind. */
export async function untilCalm(pids: readonly number[]): Promise<void> {
  const giveUpAt = performance.now() + CALM_WITHIN_MS;
  const used = (): number => pids.reduce((sum, pid) => sum + (usageOf(pid)?.cpuSeconds ?? 0), 0);
  let before = used();
  while (performance.now() < giveUpAt) {
    await setTimeout(LOOK_EVERY_MS);
    const now = used();
    if ((now - before) * 1_000 <= CALM_CPU_SHARE * LOOK_EVERY_MS) return;
    before = now;
  }
}
