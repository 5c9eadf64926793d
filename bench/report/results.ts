// What a run found, as it is written to bench/results, and how it compares.
import type { Case } from '../cases.ts';
import type { CaseResult } from '../measure.ts';

export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  /** Average of the last minute before the run: what else the machine did. */
  readonly loadBefore: number;
};

export type MeasuredCase = Pick<Case, 'name' | 'title' | 'mark'> & {
  readonly sides: CaseResult;
  /** Statements of the case without HTTP, per second; undefined if it has none. */
  readonly bareSqlPerSecond: number | undefined;
};

export type Results = {
  readonly plan: string;
  readonly at: string;
  readonly machine: Machine;
  /** By which number of connections the marks go. */
  readonly connections: number;
  readonly cases: readonly MeasuredCase[];
};

export type Comparison = {
  readonly what: string;
  readonly value: number;
  /** At least, or at most. */
  readonly mark: { readonly least: number } | { readonly most: number };
  readonly met: boolean;
};

/** At 1 connection the hub may take so many times as long as the peer. */
const SLOWEST_ALONE = 1.15;

/** The marks of a case: throughput, tail at 70 % load, latency at one connection. */
export function compare({ sides, mark }: MeasuredCase, connections: number): Comparison[] {
  const { hub, peer } = sides;
  const other = mark.over === 'peer' ? peer : sides.floor;
  if (hub === undefined || other === undefined || peer === undefined) return [];
  const rate = (side: typeof hub, at: number): number => side.perSecond[at] ?? 0;
  return [
    atLeast(`throughput, hub / ${mark.over}`, rate(hub, connections) / rate(other, connections), mark.ratio),
    atMost('p99 at 70 % load, hub / peer', hub.latency.p99 / peer.latency.p99, 1),
    atMost('latency at 1 connection, hub / peer', rate(peer, 1) / rate(hub, 1), SLOWEST_ALONE),
  ];
}

function atLeast(what: string, value: number, least: number): Comparison {
  return { what, value, mark: { least }, met: value >= least };
}

function atMost(what: string, value: number, most: number): Comparison {
  return { what, value, mark: { most }, met: value <= most };
}
