// Wording that the terminal, the page and the chart share.
import type { Cost } from '../measure.ts';
import { RATE_WITH_PAUSES } from '../measurement-plan.ts';
import type { SideName } from '../sides/side.ts';
import type { Comparison, MeasuredCase, Ratio, Results } from './results.ts';

export const SIDES = ['hub', 'peer', 'bare', 'floor'] as const satisfies readonly SideName[];

export function sideName(side: SideName, { floor }: Pick<MeasuredCase, 'floor'>): string {
  if (side === 'bare') return 'bare peer';
  if (side !== 'floor') return side;
  return floor === 'http' ? 'bare node:http' : 'bare SQL';
}

/** The machine, the time and the conditions of the run. */
export function conditions({ machine, plan, at, seconds, hub }: Results): string {
  const { cpu, cores, memoryGiB, system, node, postgres, loadBefore, busyBefore } = machine;
  return [
    `${at.slice(0, 10)}, plan ${plan}, in ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s: ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}; Node.js ${node}, PostgreSQL ${postgres}`,
    `load before ${loadBefore.toFixed(2)}, processors in use before ${percent(busyBefore)}`,
    `hub with a limit of ${hub.ratePerMinute} requests a minute, counted in ${hub.countsIn}`,
  ].join('; ');
}

/** The median of the rounds with minimum and maximum, or a dash if there is no ratio. */
export function ratioText(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–';
  const { median, least, most } = ratio;
  return `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

/** What a comparison compares, as the head of a column. */
export function comparedAs(what: Comparison['what'], connections: number): string {
  switch (what) {
    case 'throughput':
      return `requests at ${connections} connections`;
    case 'cpu':
      return `CPU at ${connections}: ratio of peer to hub`;
    case 'p50 of withoutPauses':
      return 'p50 at one connection';
    case 'p99 of withoutPauses':
      return 'p99 at one connection';
    case 'p50 of withPauses':
      return `p50 at ${RATE_WITH_PAUSES} a second`;
    case 'p99 of withPauses':
      return `p99 at ${RATE_WITH_PAUSES} a second`;
    case 'p99 of halfPeak':
      return "p99 at half of the peer's peak";
  }
}

export function targetText(target: Comparison['target']): string {
  return 'least' in target ? `at least ${target.least}` : `at most ${target.most}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** CPU microseconds per request of the server and PostgreSQL, or a dash if the system has no such data. */
export function microsText(cost: Cost | undefined): string {
  if (cost === undefined) return '–';
  return [cost.cpuMicros, cost.postgresCpuMicros].map((micros) => micros.toFixed(0)).join(', ');
}
