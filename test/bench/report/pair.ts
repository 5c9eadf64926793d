// Reports the comparison of two hubs in paired rounds.
import type { Case } from '../cases.ts';
import type { CaseResult } from '../measure.ts';
import { median } from '../median.ts';

/** The loads whose latencies are compared, with their names for the report. */
const LATENCIES = [
  ['chain', () => '1 connection, without pauses'],
  ['single', (rate: string) => `1 connection, ${rate} a second`],
  ['half', (rate: string) => `half of the throughput of the other, ${rate} a second`],
] as const;

/** The ratio of `hub` to `other` in each round, by number of connections. */
export function reportPair(
  { title }: Case,
  connectionsOf: readonly number[],
  { hub, other: before }: CaseResult,
): string {
  if (hub === undefined || before === undefined) return '';
  const lines = connectionsOf.map((connections) => {
    const pairs = (hub.rounds[connections] ?? []).map(
      (rate, round) => rate / (before.rounds[connections]?.[round] ?? 0),
    );
    const cpu = (side: typeof hub): string => {
      const cost = side.cost[connections];
      if (cost === undefined) return '–';
      return `${micros(cost.cpuSeconds)} + ${micros(cost.postgresCpuSeconds)}`;
    };
    const [low, high] = [Math.min(...pairs), Math.max(...pairs)];
    return [
      `  ${connections} connections: throughput ${median(pairs).toFixed(3)} of the other`,
      `(${low.toFixed(2)} to ${high.toFixed(2)} in ${pairs.length} rounds;`,
      `${Math.round(hub.perSecond[connections] ?? 0)} and ${Math.round(before.perSecond[connections] ?? 0)} a second),`,
      `CPU µs a request, server + PostgreSQL: ${cpu(hub)} and ${cpu(before)}`,
    ].join(' ');
  });
  const latencies = LATENCIES.flatMap(([load, label]) => {
    const [one, other] = [hub.latency?.[load], before.latency?.[load]];
    if (one === undefined || other === undefined) return [];
    const pair = (quantile: 'p50' | 'p99'): string =>
      `${quantile} ${one[quantile].toFixed(2)} and ${other[quantile].toFixed(2)} ms`;
    return [`  ${label(one.rate.toFixed(0))}: ${pair('p50')}, ${pair('p99')}`];
  });
  return `${[title, ...lines, ...latencies].join('\n')}\n`;
}

/** Converts seconds per 10 000 requests to microseconds per request. */
function micros(seconds: number): string {
  return (seconds * 100).toFixed(0);
}
