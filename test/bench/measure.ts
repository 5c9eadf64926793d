// Measures one case: every side in turn, round after round, so that what disturbs the machine disturbs all of them.
import { setTimeout } from 'node:timers/promises';
import type { Case } from './cases.ts';
import { closedLoop, type Throughput } from './load/closed-loop.ts';
import { type Latency, latencyOf } from './load/latency.ts';
import { openLoop, type Paced } from './load/open-loop.ts';
import { median, middle } from './median.ts';
import { CALM_WITHIN_MS, mainConnections, type Plan } from './plan.ts';
import { forgetPeak, postgresCpuSeconds, usageOf } from './sides/process-cost.ts';
import type { Server, Side, SideName } from './sides/side.ts';
import { warmUp } from './warm-up.ts';

export type Cost = {
  /** CPU seconds that the process used for 10 000 requests, what it put off until afterwards included. */
  readonly cpuSeconds: number;
  /** And PostgreSQL meanwhile, with all of its processes. */
  readonly postgresCpuSeconds: number;
  /** MiB resident at most while they were served. */
  readonly peakMiB: number;
};

export type SideResult = {
  /** Requests per second by number of connections, the median of the rounds. */
  readonly perSecond: ByConnections<number>;
  /** Of each round. */
  readonly rounds: ByConnections<readonly number[]>;
  /** Of each window while it was warmed up, the first one first. */
  readonly warmUp: readonly number[];
  /** At 70 % of this side's own peak; of statements alone there is none. */
  readonly latency: Latency | undefined;
  /** By number of connections, of the round in the middle by its CPU; empty where the system does not tell. */
  readonly cost: ByConnections<Cost>;
  /** Busiest the load generator was, of 1: while it sent as fast as it was answered, and by the clock. */
  readonly generatorBusy: { readonly closed: number; readonly open: number };
};

type ByConnections<T> = Readonly<Record<number, T>>;

export type CaseResult = Readonly<Partial<Record<SideName, SideResult>>>;

export type MeasureOptions = {
  readonly plan: Plan;
  /** Waits until no server works off anything any more. */
  readonly calm: () => Promise<void>;
  /** Told after each measurement how many of how many are done. */
  readonly onStep: (done: number, total: number) => void;
};

const LATENCY_LOAD = 0.7;
const LATENCY_CONNECTIONS = 256;
/** For the first window of a case: a window for which too few requests were prepared only ends sooner. */
const PER_SECOND_AT_FIRST = 4_000;
/** Prepared for a window: so many times what the last one like it took. */
const SPARE = 1.5;

export async function measureCase(
  each: Case,
  sides: readonly Side[],
  { plan, calm, onStep }: MeasureOptions,
): Promise<CaseResult> {
  const servers = sides.filter((side) => 'port' in side);
  // More requests at a time than connections to the database only wait for each other.
  const takesPart = (side: Side, connections: number): boolean =>
    'port' in side || connections <= mainConnections(plan);
  const windows = plan.connections.flatMap((connections) =>
    sides.filter((side) => takesPart(side, connections)),
  );
  const latencies = plan.latencyRounds * servers.length;
  const steps = { done: 0, total: sides.length + plan.rounds * windows.length + latencies };
  const step = (): void => onStep(++steps.done, steps.total);

  const collected = new Map(sides.map((side) => [side, newCollection()]));
  const collectionOf = (side: Side) => collected.get(side) ?? newCollection();
  for (const side of sides) {
    const connections = mainConnections(plan);
    const rates = await warmUp(plan.warmUp, async (seconds, rate = PER_SECOND_AT_FIRST) => {
      const load = await prepareWindow(each, side, { connections, seconds, rate });
      await calm();
      return (await load()).perSecond;
    });
    collectionOf(side).warmUp.push(...rates);
    step();
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const connections of plan.connections) {
      // The other way round each time: what one leaves to the database to do falls upon the next.
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        if (!takesPart(side, connections)) continue;
        const { rates, warmUp, costs, busy } = collectionOf(side);
        const earlier = rates.get(connections) ?? [];
        const rate = Math.max(...(earlier.length > 0 ? earlier : warmUp));
        const load = await prepareWindow(each, side, { connections, seconds: plan.seconds, rate });
        await calm();
        const left = await countLeft(each, side);
        const { found, cost } = await costOf(side, load, calm);
        await untilLeft(each, side, left + found.requests);
        rates.set(connections, [...earlier, found.perSecond]);
        busy.push(found.generatorBusy);
        if (cost !== undefined) costs.set(connections, [...(costs.get(connections) ?? []), cost]);
        step();
      }
    }
  }
  for (let round = 0; round < plan.latencyRounds; round++) {
    for (const side of round % 2 === 0 ? servers : servers.toReversed()) {
      const collection = collectionOf(side);
      const [rate, seconds] = [latencyRate(collection), plan.latencySeconds];
      const next = await each.prepare(side.warehouse, Math.ceil(rate * seconds));
      await calm();
      const { port } = side;
      collection.paced.push(await openLoop({ port, connections: LATENCY_CONNECTIONS, seconds, next, rate }));
      step();
    }
  }
  return Object.fromEntries(sides.map((side) => [side.name, resultOf(collectionOf(side))]));
}

type Window = { readonly connections: number; readonly seconds: number; readonly rate: number };

/** Puts in place what a window of load takes at this rate; returns what begins it. */
export async function prepareWindow(
  { name, prepare }: Case,
  side: Side,
  { connections, seconds, rate }: Window,
): Promise<() => Promise<Throughput>> {
  const next = await prepare(side.warehouse, Math.ceil(seconds * rate * SPARE));
  return 'port' in side
    ? () => closedLoop({ port: side.port, connections, seconds, next })
    : () => side.run({ caseName: name, connections, seconds });
}

async function countLeft({ leaves }: Case, { warehouse }: Side): Promise<number> {
  return leaves === undefined ? 0 : ((await warehouse?.count(leaves)) ?? 0);
}

const LEFT_WITHIN_MS = 10_000;

/** @throws Error if fewer requests took effect than were answered: to answer alone is fast */
async function untilLeft(each: Case, side: Side, wanted: number): Promise<void> {
  if (each.leaves === undefined) return;
  const giveUpAt = performance.now() + LEFT_WITHIN_MS;
  for (let left = await countLeft(each, side); left < wanted; left = await countLeft(each, side)) {
    if (performance.now() > giveUpAt)
      throw new Error(`${each.title}, ${side.name}: there are ${left} of what should be ${wanted} by now`);
    await setTimeout(LOOK_EVERY_MS);
  }
}

async function costOf(
  { pid }: Side,
  load: () => Promise<Throughput>,
  calm: () => Promise<void>,
): Promise<{ readonly found: Throughput; readonly cost: Cost | undefined }> {
  forgetPeak(pid);
  const [before, postgresBefore] = [usageOf(pid), postgresCpuSeconds()];
  const found = await load();
  await calm();
  const [after, postgresAfter] = [usageOf(pid), postgresCpuSeconds()];
  if (before === undefined || after === undefined) return { found, cost: undefined };
  if (postgresBefore === undefined || postgresAfter === undefined) return { found, cost: undefined };
  const ofTenThousand = (seconds: number): number => (seconds * 10_000) / found.requests;
  return {
    found,
    cost: {
      cpuSeconds: ofTenThousand(after.cpuSeconds - before.cpuSeconds),
      postgresCpuSeconds: ofTenThousand(postgresAfter - postgresBefore),
      peakMiB: after.peakMiB,
    },
  };
}

type Collection = {
  readonly rates: Map<number, number[]>;
  readonly warmUp: number[];
  readonly paced: Paced[];
  readonly costs: Map<number, Cost[]>;
  /** The generator's share of its time, of each measurement. */
  readonly busy: number[];
};

function newCollection(): Collection {
  return { rates: new Map(), warmUp: [], paced: [], costs: new Map(), busy: [] };
}

function latencyRate({ rates }: Collection): number {
  return LATENCY_LOAD * Math.max(...[...rates.values()].map(median));
}

function resultOf(collection: Collection): SideResult {
  const { rates, warmUp, paced, costs, busy } = collection;
  return {
    perSecond: byConnections(rates, median),
    rounds: Object.fromEntries(rates),
    warmUp,
    latency: paced.length === 0 ? undefined : latencyOf(latencyRate(collection), paced),
    cost: byConnections(costs, (each) => middle(each, (cost) => cost.cpuSeconds + cost.postgresCpuSeconds)),
    generatorBusy: {
      closed: Math.max(...busy),
      open: Math.max(0, ...paced.map(({ generatorBusy }) => generatorBusy)),
    },
  };
}

function byConnections<T, R>(all: Map<number, T>, of: (one: T) => R): ByConnections<R> {
  return Object.fromEntries([...all].map(([connections, one]) => [connections, of(one)]));
}

/** Of one processor. The clock of the kernel ticks every 10 ms: one tick at each look is calm. */
const CALM_CPU_SHARE = 0.12;
const LOOK_EVERY_MS = 100;

/** Waits until none of the servers uses the CPU any more: jobs, chains and vacuums that a measurement left behind. */
export async function untilCalm(
  servers: readonly Pick<Server, 'pid'>[],
  withinMs = CALM_WITHIN_MS,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  const used = (): number =>
    servers.reduce((sum, { pid }) => sum + (usageOf(pid)?.cpuSeconds ?? 0), postgresCpuSeconds() ?? 0);
  let [before, lookedAt] = [used(), performance.now()];
  while (performance.now() < giveUpAt) {
    await setTimeout(LOOK_EVERY_MS);
    const [now, at] = [used(), performance.now()];
    if ((now - before) * 1_000 <= CALM_CPU_SHARE * (at - lookedAt)) return;
    [before, lookedAt] = [now, at];
  }
}
