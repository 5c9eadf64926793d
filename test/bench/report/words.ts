// What terminal, page and chart call the same.
import type { Cost } from '../measure.ts';
import type { SideName } from '../sides/side.ts';
import type { Comparison, MeasuredCase, Ratio, Results } from './results.ts';

export const SIDES = ['hub', 'peer', 'bare', 'floor'] as const satisfies readonly SideName[];

export function sideName(side: SideName, { floor }: Pick<MeasuredCase, 'floor'>): string {
  if (side === 'bare') return 'bare peer';
  if (side !== 'floor') return side;
  return floor === 'http' ? 'bare node:http' : 'bare SQL';
}

/** On what, when and how it was measured. */
export function conditions({ machine, plan, at, seconds, hub }: Results): string {
  const { cpu, cores, memoryGiB, system, node, postgres, loadBefore, busyBefore } = machine;
  return [
    `${at.slice(0, 10)}, plan ${plan}, in ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s: ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}; Node.js ${node}, PostgreSQL ${postgres}`,
    `load before ${loadBefore.toFixed(2)}, processors in use before ${percent(busyBefore)}`,
    `hub with a limit of ${hub.ratePerMinute} requests a minute, counted in ${hub.countsIn}`,
  ].join('; ');
}

/** The median of the rounds, and both ends; a dash without one. */
export function ratioText(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–';
  const { median, least, most } = ratio;
  return `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

export function wanted(mark: Comparison['mark']): string {
  return 'least' in mark ? `at least ${mark.least}` : `at most ${mark.most}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** Microseconds of CPU a request, of the server and of PostgreSQL; a dash where the system does not tell. */
export function microsText(cost: Cost | undefined): string {
  if (cost === undefined) return '–';
  return [cost.cpuSeconds, cost.postgresCpuSeconds].map((seconds) => (seconds * 100).toFixed(0)).join(', ');
}
