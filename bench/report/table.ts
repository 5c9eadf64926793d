// The results as text for a terminal.
import type { SideResult } from '../measure.ts';
import type { SideName } from '../sides/side.ts';
import { type Comparison, compare, type MeasuredCase, type Results } from './results.ts';

const SIDES: readonly SideName[] = ['hub', 'peer', 'floor'];

export function resultsTable({ cases, connections, machine, plan }: Results): string {
  const { cpu, cores, memoryGiB, node, postgres, loadBefore } = machine;
  const head = `${cpu}, ${cores} cores, ${memoryGiB} GiB; Node.js ${node}, PostgreSQL ${postgres}; load before ${loadBefore.toFixed(2)}; plan ${plan}`;
  return [head, ...cases.map((each) => caseTable(each, connections))].join('\n\n').concat('\n');
}

function caseTable(measured: MeasuredCase, connections: number): string {
  const { title, sides, bareSqlPerSecond } = measured;
  const counts = Object.keys(sides.hub?.perSecond ?? {});
  const rows = [
    [
      '',
      ...counts.map((count) => `${count} conn.`),
      'spread',
      'p50',
      'p99',
      'p99.9',
      'at',
      'CPU s/10k',
      'MiB',
    ],
    ...SIDES.flatMap((name) => {
      const side = sides[name];
      return side === undefined ? [] : [[name, ...sideCells(side, counts, connections)]];
    }),
    ...(bareSqlPerSecond === undefined ? [] : [['bare SQL', '', perSecond(bareSqlPerSecond)]]),
  ];
  const marks = compare(measured, connections).map(markLine);
  return [title, ...aligned(rows), ...marks].join('\n');
}

function sideCells(
  { perSecond: rates, rounds, latency, cost }: SideResult,
  counts: readonly string[],
  connections: number,
): string[] {
  const ms = (value: number): string => `${value.toFixed(2)} ms`;
  return [
    ...counts.map((count) => perSecond(rates[Number(count)] ?? 0)),
    spread(rounds[connections] ?? []),
    ms(latency.p50),
    ms(latency.p99),
    ms(latency.p999),
    perSecond(latency.rate),
    cost?.cpuSeconds.toFixed(2) ?? '–',
    cost?.peakMiB.toFixed(0) ?? '–',
  ];
}

/** Between the slowest and the fastest round, of the fastest: a rate that is not stable says nothing. */
function spread(rates: readonly number[]): string {
  const most = Math.max(...rates);
  return rates.length < 2 ? '–' : `${(((most - Math.min(...rates)) / most) * 100).toFixed(0)} %`;
}

function markLine({ what, value, mark, met }: Comparison): string {
  const wanted = 'least' in mark ? `at least ${mark.least}` : `at most ${mark.most}`;
  return `  ${met ? 'met   ' : 'MISSED'} ${what}: ${value.toFixed(2)} (${wanted})`;
}

function perSecond(rate: number): string {
  return `${Math.round(rate)}/s`;
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')}`.trimEnd(),
  );
}
