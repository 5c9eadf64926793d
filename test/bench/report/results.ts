// What a run found, as it is written to bench/results, and how it compares.
import type { Case } from '../cases.ts';
import type { CaseResult, SideResult } from '../measure.ts';
import { median } from '../median.ts';
import type { Profile } from '../profile/profile-case.ts';

export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  /** Average of the last minute before the run: programs that wanted a processor. */
  readonly loadBefore: number;
  /** Share of the processors that were busy in the last second before it. */
  readonly busyBefore: number;
};

export type MeasuredCase = Pick<Case, 'name' | 'title' | 'mark' | 'floor'> & {
  readonly sides: CaseResult;
  readonly profiles: readonly Profile[];
};

export type Results = {
  readonly plan: string;
  readonly at: string;
  /** All of it, starting and stopping included. */
  readonly seconds: number;
  readonly machine: Machine;
  /** What of the hub is not as by default; and where it counts requests. */
  readonly hub: { readonly ratePerMinute: number; readonly countsIn: string };
  /** By which number of connections the marks go. */
  readonly connections: number;
  readonly cases: readonly MeasuredCase[];
};

/** By the median of the rounds. UNDECIDED: there were too few of them to tell. */
export type Verdict = 'MET' | 'MISSED' | 'UNDECIDED';

export type Comparison = {
  readonly what: 'throughput' | 'p99' | 'alone';
  readonly over: 'peer' | 'floor';
  /** Of each round the hub's figure over the other's; the one in the middle, and the two at the ends. */
  readonly ratio: Ratio;
  readonly mark: { readonly least: number } | { readonly most: number };
  readonly verdict: Verdict;
};

export type Ratio = { readonly median: number; readonly least: number; readonly most: number };

/** At 1 connection the hub may take so many times as long as the peer. */
const SLOWEST_ALONE = 1.15;
/** With fewer there is no telling how far apart rounds are. */
const FEWEST_ROUNDS = 3;
/** Of a p99.9, that a handful of requests does not make it. */
const FEWEST_SAMPLES = 5_000;
/** Beyond, what is measured may be the load generator. */
const GENERATOR_BOUND = 0.75;
const BUSY_SHARE = 0.15;

/** The marks of a case: throughput, tail at 70 % load, latency at one connection. */
export function compare({ sides, mark }: MeasuredCase, connections: number): Comparison[] {
  const { hub, peer, floor } = sides;
  const other = mark.over === 'peer' ? peer : floor;
  if (hub === undefined || other === undefined || peer === undefined) return [];
  const rate = (side: SideResult, at: number): readonly number[] => side.rounds[at] ?? [];
  const tail = (side: SideResult): readonly number[] => side.latency?.rounds.p99 ?? [];
  const least = { least: mark.ratio };
  return [
    judge('throughput', mark.over, ratios(rate(hub, connections), rate(other, connections)), least),
    judge('p99', 'peer', ratios(tail(hub), tail(peer)), { most: 1 }),
    judge('alone', 'peer', ratios(rate(peer, 1), rate(hub, 1)), { most: SLOWEST_ALONE }),
  ];
}

/** Of rates at so many connections, round by round; undefined if one of the two was not measured with them. */
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
  over: Comparison['over'],
  rounds: readonly number[],
  mark: Comparison['mark'],
): Comparison {
  const isBeyond = (value: number): boolean => ('least' in mark ? value >= mark.least : value <= mark.most);
  const ratio = ratioOf(rounds);
  const found = isBeyond(ratio.median) ? 'MET' : 'MISSED';
  return { what, over, ratio, mark, verdict: rounds.length < FEWEST_ROUNDS ? 'UNDECIDED' : found };
}

function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
}

function ratioOf(rounds: readonly number[]): Ratio {
  return { median: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}

/** Whether a p99.9 rests on too few requests. */
export function areFew(requests: number): boolean {
  return requests < FEWEST_SAMPLES;
}

/** Under which loads the generator was so busy that a server may have been faster than it. Bare SQL needs none. */
export function generatorBound({ generatorBusy, latency }: SideResult): ('closed' | 'open')[] {
  if (latency === undefined) return [];
  return (['closed', 'open'] as const).filter((loop) => generatorBusy[loop] > GENERATOR_BOUND);
}

/** What to be told of a machine that does something else; undefined if it does not. */
export function busyWarning({ loadBefore, busyBefore, cores }: Machine): string | undefined {
  if (loadBefore <= cores && busyBefore <= BUSY_SHARE) return undefined;
  const share = `${(busyBefore * 100).toFixed(0)} %`;
  return `This machine is busy: ${loadBefore.toFixed(1)} programs wanted its ${cores} processors in the last minute, and ${share} of them were in use before the run. Its figures will say more about that than about the servers.`;
}
