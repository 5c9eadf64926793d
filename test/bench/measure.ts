// Measures one case. The sides take turns in each round, so that a disturbance of the machine affects all of
// them.
import { setTimeout } from 'node:timers/promises';
import { until } from '../support/until.ts';
import type { Case } from './cases.ts';
import { closedLoop, type Throughput } from './load/closed-loop.ts';
import { type Latency, latencyOf } from './load/latency.ts';
import { openLoop, type Paced } from './load/open-loop.ts';
import {
  IDLE_TIMEOUT_MS,
  mainConnections,
  PACED_LOADS,
  type PacedLoad,
  type Plan,
  RATE_WITH_PAUSES,
} from './measurement-plan.ts';
import { median, medianItem } from './median.ts';
import { postgresCpuSeconds, resetPeakMemory, usageOf } from './sides/process-cost.ts';
import type { Server, Side, SideName } from './sides/side.ts';
import type { TestDatabase } from './test-data.ts';
import { warmUp } from './warm-up.ts';

export type Cost = {
  /** CPU time of the process for a request in µs, including work that it defers until after the window. */
  readonly cpuMicros: number;
  /** CPU time of all PostgreSQL processes for the same requests, in µs a request. */
  readonly postgresCpuMicros: number;
  /** Peak resident memory during the window, in MiB. */
  readonly peakMiB: number;
};

export type SideResult = {
  /** Requests per second by number of connections: the median of the rounds. */
  readonly perSecond: ByConnections<number>;
  /** Requests per second of each round. */
  readonly rounds: ByConnections<readonly number[]>;
  /** Requests per second of each warm-up window, in order. */
  readonly warmUp: readonly number[];
  /**
   * Undefined for bare statements. `withoutPauses`: one connection sends its next request as soon as it has the previous
   * response. `halfPeak` and `withPauses`: see `PACED_LOADS`; `withPauses` is that of hub and peer only.
   */
  readonly latency:
    | {
        readonly withoutPauses: Latency;
        readonly halfPeak: Latency;
        readonly withPauses: Latency | undefined;
      }
    | undefined;
  /**
   * By number of connections, from the round with the median CPU time. Empty if the system has no such data.
   */
  readonly cost: ByConnections<Cost>;
  /** CPU time of the process and of PostgreSQL together in each round, in µs a request. */
  readonly cpuRounds: ByConnections<readonly number[]>;
  /** The load generator's highest busy share, from 0 to 1, under closed-loop and open-loop load. */
  readonly generatorBusy: { readonly closed: number; readonly open: number };
};

type ByConnections<T> = Readonly<Record<number, T>>;

export type CaseResult = Readonly<Partial<Record<SideName, SideResult>>>;

export type MeasureOptions = {
  readonly plan: Plan;
  /** Waits until no server has background work left. */
  readonly untilIdle: () => Promise<void>;
  /** Receives the number of finished measurements and the total after each measurement. */
  readonly onStep: (done: number, total: number) => void;
};

/** Assumed rate for the first window of a case. If it is too low, the window only ends early. */
const PER_SECOND_AT_FIRST = 4_000;
/** Each window gets this many times the requests that the previous rate would use. */
const SPARE = 1.5;

export async function measureCase(
  each: Case,
  sides: readonly Side[],
  { plan, untilIdle, onStep }: MeasureOptions,
): Promise<CaseResult> {
  const servers = sides.filter((side) => 'port' in side);
  // Requests beyond the size of the connection pool only wait for each other.
  const takesPart = (side: Side, connections: number): boolean =>
    'port' in side || connections <= mainConnections(plan);
  const windows = plan.connections.flatMap((connections) =>
    sides.filter((side) => takesPart(side, connections)),
  );
  const latencies = plan.latencyRounds * (servers.length + 2);
  const steps = { done: 0, total: sides.length + plan.rounds * windows.length + latencies };
  const step = (): void => onStep(++steps.done, steps.total);

  const collected = new Map(sides.map((side) => [side, newCollection()]));
  const collectionOf = (side: Side) => collected.get(side) ?? newCollection();
  for (const side of sides) {
    const connections = mainConnections(plan);
    const rates = await warmUp(plan.warmUp, async (seconds, rate = PER_SECOND_AT_FIRST) => {
      const load = await prepareWindow(each, side, { connections, seconds, rate });
      await untilIdle();
      return (await load()).perSecond;
    });
    collectionOf(side).warmUp.push(...rates);
    step();
  }
  const fastest = Math.max(...servers.flatMap((server) => collectionOf(server).warmUp));
  // All rounds of a load follow each other: after 256 connections a server still collects garbage.
  for (const connections of plan.connections) {
    for (const server of servers) {
      // One connection is slower than many.
      const [seconds, rate] =
        connections === 1 ? [plan.warmUpSecondsAtOne, fastest / 2] : [plan.warmUpSecondsAtMany, fastest];
      const load = await prepareWindow(each, server, { connections, seconds, rate });
      await untilIdle();
      await load();
    }
    for (let round = 0; round < plan.rounds; round++) {
      // The order alternates: work that one side leaves to the database slows the next side.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        if (!takesPart(side, connections)) continue;
        const { rates, warmUp, costs, busy, withoutPauses } = collectionOf(side);
        const earlier = rates.get(connections) ?? [];
        const rate = Math.max(...(earlier.length > 0 ? earlier : warmUp));
        const seconds = connections === 1 ? plan.secondsAtOne : plan.seconds;
        const load = await prepareWindow(each, side, { connections, seconds, rate });
        await untilIdle();
        const before = await countEffects(each, side);
        const { found, cost } = await costOf(side, load, untilIdle);
        await waitForEffects(each, side, before + found.requests);
        rates.set(connections, [...earlier, found.perSecond]);
        busy.push(found.generatorBusy);
        const { perSecond, latencies } = found;
        if (connections === 1 && latencies !== undefined) withoutPauses.push({ rate: perSecond, latencies });
        if (cost !== undefined) costs.set(connections, [...(costs.get(connections) ?? []), cost]);
        step();
      }
    }
  }
  await measureLatencies(each, servers, { plan, untilIdle, step, collectionOf });
  return Object.fromEntries(sides.map((side) => [side.name, resultOf(collectionOf(side))]));
}

type LatencyOptions = Pick<MeasureOptions, 'plan' | 'untilIdle'> & {
  readonly step: () => void;
  readonly collectionOf: (side: Side) => Collection;
};

async function measureLatencies(
  each: Case,
  servers: readonly Server[],
  { plan, untilIdle, step, collectionOf }: LatencyOptions,
): Promise<void> {
  const connections = mainConnections(plan);
  const peak = Math.min(
    ...servers
      .filter(({ name }) => name === 'peer' || name === 'other')
      .map((peer) => median(collectionOf(peer).rates.get(connections) ?? [])),
  );
  const loads = {
    halfPeak: { rate: peak / 2, connections },
    withPauses: { rate: RATE_WITH_PAUSES, connections: 1 },
  };
  for (let round = 0; round < plan.latencyRounds; round++) {
    for (const name of PACED_LOADS) {
      const [{ rate, ...load }, seconds] = [loads[name], plan.latencySeconds[name]];
      const compared = servers.filter(
        (side) => name === 'halfPeak' || (side.name !== 'bare' && side.name !== 'floor'),
      );
      for (const side of round % 2 === 0 ? compared : compared.toReversed()) {
        const next = await each.prepare(side.database, Math.ceil(rate * seconds));
        await untilIdle();
        collectionOf(side).paced[name].push(
          await openLoop({ ...load, port: side.port, seconds, next, rate }),
        );
        step();
      }
    }
  }
}

type Window = { readonly connections: number; readonly seconds: number; readonly rate: number };

/** Prepares the data for one window at this rate, and returns a function that starts the load. */
export async function prepareWindow(
  { name, prepare }: Case,
  side: Side,
  { connections, seconds, rate }: Window,
): Promise<() => Promise<Throughput>> {
  const next = await prepare(side.database, Math.ceil(seconds * rate * SPARE));
  return 'port' in side
    ? () => closedLoop({ port: side.port, connections, seconds, next })
    : () => side.run({ caseName: name, connections, seconds });
}

async function countEffects({ effects }: Case, { database }: Side): Promise<number> {
  return effects === undefined ? 0 : ((await database?.count(effects)) ?? 0);
}

const EFFECTS_WITHIN_MS = 10_000;

/** @throws Error if fewer requests took effect than were answered, since an answer without work is fast */
async function waitForEffects(each: Case, side: Side, wanted: number): Promise<void> {
  if (each.effects === undefined) return;
  const giveUpAt = performance.now() + EFFECTS_WITHIN_MS;
  for (let count = await countEffects(each, side); count < wanted; count = await countEffects(each, side)) {
    if (performance.now() > giveUpAt)
      throw new Error(`${each.title}, ${side.name}: found ${count} rows, expected at least ${wanted}`);
    await setTimeout(POLL_INTERVAL_MS);
  }
}

const DEFERRED_WITHIN_MS = 30_000;

/** @throws Error if the server does not finish its deferred work */
export async function waitForDeferred(
  database: Pick<TestDatabase, 'deferred' | 'count'> | undefined,
): Promise<void> {
  if (database?.deferred === undefined) return;
  const { deferred } = database;
  const isDone = async () => (await database.count(deferred)) === 0;
  await until(isDone, `the server has finished its deferred work: ${deferred}`, DEFERRED_WITHIN_MS);
}

async function costOf(
  { pid, database }: Side,
  load: () => Promise<Throughput>,
  untilIdle: () => Promise<void>,
): Promise<{ readonly found: Throughput; readonly cost: Cost | undefined }> {
  resetPeakMemory(pid);
  const [before, postgresBefore] = [usageOf(pid), postgresCpuSeconds()];
  const found = await load();
  await waitForDeferred(database);
  await untilIdle();
  const [after, postgresAfter] = [usageOf(pid), postgresCpuSeconds()];
  if (before === undefined || after === undefined) return { found, cost: undefined };
  if (postgresBefore === undefined || postgresAfter === undefined) return { found, cost: undefined };
  const microsARequest = (seconds: number): number => (seconds * 1e6) / found.requests;
  return {
    found,
    cost: {
      cpuMicros: microsARequest(after.cpuSeconds - before.cpuSeconds),
      postgresCpuMicros: microsARequest(postgresAfter - postgresBefore),
      peakMiB: after.peakMiB,
    },
  };
}

type Collection = {
  readonly rates: Map<number, number[]>;
  readonly warmUp: number[];
  readonly paced: Readonly<Record<PacedLoad, Paced[]>>;
  /** Of one connection in the closed loop. */
  readonly withoutPauses: Pick<Paced, 'rate' | 'latencies'>[];
  readonly costs: Map<number, Cost[]>;
  /** The busy share of the generator in each measurement. */
  readonly busy: number[];
};

function newCollection(): Collection {
  return {
    rates: new Map(),
    warmUp: [],
    paced: { halfPeak: [], withPauses: [] },
    withoutPauses: [],
    costs: new Map(),
    busy: [],
  };
}

function resultOf({ rates, warmUp, paced, withoutPauses, costs, busy }: Collection): SideResult {
  const { halfPeak, withPauses } = paced;
  const cpuOf = (cost: Cost): number => cost.cpuMicros + cost.postgresCpuMicros;
  return {
    perSecond: byConnections(rates, median),
    rounds: Object.fromEntries(rates),
    warmUp,
    latency:
      halfPeak.length === 0
        ? undefined
        : {
            withoutPauses: latencyOf(withoutPauses),
            halfPeak: latencyOf(halfPeak),
            withPauses: withPauses.length === 0 ? undefined : latencyOf(withPauses),
          },
    cost: byConnections(costs, (each) => ({
      ...medianItem(each, cpuOf),
      peakMiB: Math.max(...each.map(({ peakMiB }) => peakMiB)),
    })),
    cpuRounds: byConnections(costs, (each) => each.map(cpuOf)),
    generatorBusy: {
      closed: Math.max(...busy),
      open: Math.max(0, ...halfPeak.map(({ generatorBusy }) => generatorBusy)),
    },
  };
}

function byConnections<T, R>(all: Map<number, T>, of: (one: T) => R): ByConnections<R> {
  return Object.fromEntries([...all].map(([connections, one]) => [connections, of(one)]));
}

/** Share of one processor. The kernel's clock ticks every 10 ms, so one tick per check counts as idle. */
const IDLE_CPU_SHARE = 0.12;
const POLL_INTERVAL_MS = 100;

/**
 * Waits until the servers stop using the CPU for jobs, audit chains and vacuums of the previous measurement. Says so
 * if they do not.
 */
export async function waitUntilIdle(
  servers: readonly Pick<Server, 'pid'>[],
  withinMs = IDLE_TIMEOUT_MS,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  const used = (): number =>
    servers.reduce((sum, { pid }) => sum + (usageOf(pid)?.cpuSeconds ?? 0), postgresCpuSeconds() ?? 0);
  let [before, lookedAt] = [used(), performance.now()];
  while (performance.now() < giveUpAt) {
    await setTimeout(POLL_INTERVAL_MS);
    const [now, at] = [used(), performance.now()];
    if ((now - before) * 1_000 <= IDLE_CPU_SHARE * (at - lookedAt)) return;
    [before, lookedAt] = [now, at];
  }
  process.stderr.write(`the servers were still busy after ${withinMs / 1_000} s\n`);
}
