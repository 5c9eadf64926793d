// Formats the results as text for a terminal.
import type { SideResult } from '../measure.ts';
import { SINGLE_RATE } from '../measurement-plan.ts';
import type { Profile } from '../profile/profile-case.ts';
import {
  busyWarning,
  type Comparison,
  compare,
  generatorBound,
  type MeasuredCase,
  type Results,
} from './results.ts';
import { comparedAs, conditions, percent, ratioText, SIDES, sideName, wanted } from './words.ts';

export function resultsTable(results: Results): string {
  const { cases, connections, machine } = results;
  const head = [conditions(results), busyWarning(machine)].filter((line) => line !== undefined).join('\n');
  return [head, ...cases.map((each) => caseTable(each, connections))].join('\n\n').concat('\n');
}

function caseTable(measured: MeasuredCase, connections: number): string {
  const { title, sides } = measured;
  const counts = Object.keys(sides.hub?.perSecond ?? {}).map(Number);
  const columns = [
    'spread',
    'half: p50',
    'p99',
    'at',
    `at ${SINGLE_RATE}: p50`,
    'p99',
    'one: p50',
    'p99',
    'CPU s/10k, PG',
    'at 1',
    'MiB',
    'generator',
  ];
  const rows = [['', ...counts.map((count) => `${count} conn.`), ...columns]];
  for (const name of SIDES) {
    const side = sides[name];
    if (side !== undefined) rows.push([sideName(name, measured), ...sideCells(side, counts, connections)]);
  }
  const bound = SIDES.flatMap((name) => {
    const side = sides[name];
    const loops = side === undefined ? [] : generatorBound(side);
    return loops.map((loop) => `  generator-bound: ${sideName(name, measured)}, ${LOOPS[loop]}`);
  });
  const marks = compare(measured, connections).map((each) => markLine(each, connections));
  return [title, ...aligned(rows), ...marks, ...bound, ...measured.profiles.map(profileLine)].join('\n');
}

/** The parts in descending order of time. */
function profileLine({ side, connections, micros }: Profile): string {
  const parts = Object.entries(micros).sort(([, one], [, other]) => other - one);
  const all = parts.reduce((sum, [, each]) => sum + each, 0);
  const told = parts.map(([part, each]) => `${part} ${each.toFixed(1)}`).join(', ');
  return `  main thread of the ${side}, ${connections} conn., µs a request: ${all.toFixed(0)} (${told})`;
}

const LOOPS = { closed: 'as fast as it answers', open: 'by the clock' } as const;

function sideCells(side: SideResult, counts: readonly number[], connections: number): string[] {
  const { perSecond: rates, rounds, latency, cost, generatorBusy } = side;
  const ms = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(2)} ms`);
  const cpu = (at: number): string => {
    const found = cost[at];
    return found === undefined
      ? '–'
      : `${found.cpuSeconds.toFixed(2)}, ${found.postgresCpuSeconds.toFixed(2)}`;
  };
  return [
    ...counts.map((count) => (rates[count] === undefined ? '–' : perSecond(rates[count]))),
    spread(rounds[connections] ?? []),
    ms(latency?.half.p50),
    ms(latency?.half.p99),
    latency === undefined ? '–' : perSecond(latency.half.rate),
    ms(latency?.single?.p50),
    ms(latency?.single?.p99),
    ms(latency?.chain.p50),
    ms(latency?.chain.p99),
    cpu(connections),
    cpu(1),
    cost[connections]?.peakMiB.toFixed(0) ?? '–',
    latency === undefined
      ? percent(generatorBusy.closed)
      : `${percent(generatorBusy.closed)}, ${percent(generatorBusy.open)}`,
  ];
}

/**
 * The difference between the fastest and slowest round, relative to the fastest. A large spread makes a rate
 * unreliable.
 */
function spread(rates: readonly number[]): string {
  const most = Math.max(...rates);
  return rates.length < 2 ? '–' : percent((most - Math.min(...rates)) / most);
}

function markLine({ what, ratio, mark, verdict }: Comparison, connections: number): string {
  return `  ${verdict.padEnd(9)} ${comparedAs(what, connections)}: ${ratioText(ratio)}, wanted ${wanted(mark)}`;
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
