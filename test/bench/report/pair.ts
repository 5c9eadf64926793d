// Reports the comparison of two hubs in paired rounds.
import type { Case } from '../cases.ts';
import type { CaseResult } from '../measure.ts';
import { median } from '../median.ts';
import { microsText } from './words.ts';

/** The loads whose latencies are compared, with their names for the report. */
const LATENCIES = [
  ['withoutPauses', () => '1 connection, without pauses'],
  ['withPauses', (rate: string) => `1 connection, ${rate} a second`],
  ['halfPeak', (rate: string) => `half of the throughput of the other, ${rate} a second`],
] as const;

/** Throughput ratios, CPU times and latencies of two hubs. */
export function reportPair(
  { title }: Case,
  connectionsOf: readonly number[],
  { hub, other }: CaseResult,
): string {
  if (hub === undefined || other === undefined) return '';
  const lines = connectionsOf.map((connections) => {
    const pairs = (hub.rounds[connections] ?? []).map(
      (rate, round) => rate / (other.rounds[connections]?.[round] ?? 0),
    );
    const cpu = (side: typeof hub): string => microsText(side.cost[connections]);
    const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
    return [
      `  ${connections} ${connections === 1 ? 'connection' : 'connections'}: throughput ${median(pairs).toFixed(3)} times the other`,
      `(${low.toFixed(2)} to ${high.toFixed(2)} in ${pairs.length} rounds;`,
      `${Math.round(hub.perSecond[connections] ?? 0)} and ${Math.round(other.perSecond[connections] ?? 0)} a second),`,
      `CPU µs a request, server and PostgreSQL: ${cpu(hub)}; ${cpu(other)}`,
    ].join(' ');
  });
  const latencies = LATENCIES.flatMap(([load, label]) => {
    const [ours, theirs] = [hub.latency?.[load], other.latency?.[load]];
    if (ours === undefined || theirs === undefined) return [];
    const pair = (quantile: 'p50' | 'p99'): string =>
      `${quantile} ${ours[quantile].toFixed(2)} and ${theirs[quantile].toFixed(2)} ms`;
    return [`  ${label(ours.rate.toFixed(0))}: ${pair('p50')}, ${pair('p99')}`];
  });
  return `${[title, ...lines, ...latencies].join('\n')}\n`;
}
