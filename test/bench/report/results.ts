// The results of a run as stored in bench/results, and their comparison with the targets.
import type { Case } from '../cases.ts';
import type { CaseResult, SideResult } from '../measure.ts';
import type { PacedLoad } from '../measurement-plan.ts';
import { median } from '../median.ts';
import type { Profile } from '../profile/profile-case.ts';

export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  /** Load average of the last minute before the run: the number of processes that run or wait for a processor. */
  readonly loadBefore: number;
  /** Busy share of the processors in the last second before the run. */
  readonly busyBefore: number;
};

export type MeasuredCase = Pick<Case, 'name' | 'title' | 'target' | 'floor'> & {
  readonly sides: CaseResult;
  readonly profiles: readonly Profile[];
};

export type Results = {
  readonly plan: string;
  readonly at: string;
  /** The duration of the run, including start and stop. */
  readonly seconds: number;
  readonly machine: Machine;
  /** The hub's settings that differ from the default, and where it counts requests. */
  readonly hub: { readonly ratePerMinute: number; readonly countsIn: string };
  /** The number of connections that the targets refer to. */
  readonly connections: number;
  readonly cases: readonly MeasuredCase[];
};

/** Based on the median of the rounds. UNDECIDED: too few rounds or requests. */
export type Verdict = 'MET' | 'MISSED' | 'UNDECIDED';

/** Latencies of `withoutPauses`, `withPauses` and `halfPeak`: see `SideResult.latency`. */
export const COMPARED = [
  'throughput',
  'cpu',
  'p50 of withoutPauses',
  'p99 of withoutPauses',
  'p50 of withPauses',
  'p99 of withPauses',
  'p99 of halfPeak',
] as const;

export type Comparison = {
  readonly what: (typeof COMPARED)[number];
  /** Hub over peer in each round, for CPU peer over hub: median, minimum and maximum. */
  readonly ratio: Ratio;
  readonly target: { readonly least: number } | { readonly most: number };
  readonly verdict: Verdict;
};

export type Ratio = { readonly median: number; readonly least: number; readonly most: number };

/** The hub's latencies may be at most this multiple of the peer's. */
const MOST_P50 = 0.9;
const MOST_P99 = 1;
/** Fewer rounds do not show the variance. */
const FEWEST_ROUNDS = 3;
/** The minimum for a p99.9, so that a few requests do not determine it. */
const FEWEST_SAMPLES = 5_000;
/** Above this busy share, the load generator may limit the result. */
const GENERATOR_BOUND = 0.75;
const BUSY_SHARE = 0.15;

/** Compares hub and peer with the targets of the case. */
export function compare({ sides: { hub, peer }, target }: MeasuredCase, connections: number): Comparison[] {
  if (hub === undefined || peer === undefined) return [];
  const least = { least: target };
  const latencies = (load: PacedLoad | 'withoutPauses', quantile: 'p50' | 'p99'): number[] =>
    ratios(hub.latency?.[load]?.rounds[quantile] ?? [], peer.latency?.[load]?.rounds[quantile] ?? []);
  return [
    judge('throughput', ratios(hub.rounds[connections] ?? [], peer.rounds[connections] ?? []), least),
    judge('cpu', ratios(peer.cpuRounds[connections] ?? [], hub.cpuRounds[connections] ?? []), least),
    judge('p50 of withoutPauses', latencies('withoutPauses', 'p50'), { most: MOST_P50 }),
    judge('p99 of withoutPauses', latencies('withoutPauses', 'p99'), { most: MOST_P99 }),
    judge('p50 of withPauses', latencies('withPauses', 'p50'), { most: MOST_P50 }),
    judge('p99 of withPauses', latencies('withPauses', 'p99'), { most: MOST_P99 }),
    judge('p99 of halfPeak', latencies('halfPeak', 'p99'), { most: MOST_P99 }),
  ];
}

/** The ratio of the rates of each round at this number of connections. Undefined if a side lacks them. */
export function rateRatio(
  one: SideResult | undefined,
  other: SideResult | undefined,
  connections: number,
): Ratio | undefined {
  const [ours, theirs] = [one?.rounds[connections], other?.rounds[connections]];
  return ours === undefined || theirs === undefined ? undefined : ratioOf(ratios(ours, theirs));
}

function judge(
  what: Comparison['what'],
  rounds: readonly number[],
  target: Comparison['target'],
): Comparison {
  const isMet = (value: number): boolean =>
    'least' in target ? value >= target.least : value <= target.most;
  const ratio = ratioOf(rounds);
  const found = isMet(ratio.median) ? 'MET' : 'MISSED';
  return { what, ratio, target, verdict: rounds.length < FEWEST_ROUNDS ? 'UNDECIDED' : found };
}

function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
}

function ratioOf(rounds: readonly number[]): Ratio {
  return { median: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}

/** Whether there are too few requests for a p99.9. */
export function areFew(requests: number): boolean {
  return requests < FEWEST_SAMPLES;
}

/** The loads during which the generator may have been the bottleneck. Bare SQL needs no generator. */
export function generatorBound({ generatorBusy, latency }: SideResult): ('closed' | 'open')[] {
  if (latency === undefined) return [];
  return (['closed', 'open'] as const).filter((loop) => generatorBusy[loop] > GENERATOR_BOUND);
}

/** A warning if other programs use the machine, else undefined. */
export function busyWarning({ loadBefore, busyBefore, cores }: Machine): string | undefined {
  if (loadBefore <= cores && busyBefore <= BUSY_SHARE) return undefined;
  const share = `${(busyBefore * 100).toFixed(0)} %`;
  return `This machine is busy: load average ${loadBefore.toFixed(1)} on ${cores} processors, and ${share} of the processors in use before the run. Do not keep these figures.`;
}
