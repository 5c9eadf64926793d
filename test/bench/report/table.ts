// Formats the results as text for a terminal.
import type { SideResult } from '../measure.ts';
import { RATE_WITH_PAUSES } from '../measurement-plan.ts';
import type { Profile } from '../profile/profile-case.ts';
import {
  busyWarning,
  type Comparison,
  compare,
  generatorBound,
  type MeasuredCase,
  type Results,
} from './results.ts';
import {
  comparedAs,
  conditions,
  microsText,
  percent,
  ratioText,
  SIDES,
  sideName,
  targetText,
} from './words.ts';

export function resultsTable(results: Results): string {
  const { cases, connections, machine } = results;
  const head = [conditions(results), busyWarning(machine)].filter((line) => line !== undefined).join('\n');
  const tables = cases.map((each) => caseTable(each, connections));
  return [head, ...tables, 'How this is measured: test/bench/README.md.'].join('\n\n').concat('\n');
}

function caseTable(measured: MeasuredCase, connections: number): string {
  const { title, sides } = measured;
  const counts = Object.keys(sides.hub?.perSecond ?? {}).map(Number);
  const columns = [
    'rounds differ by',
    'half of the peak of the peer: p50',
    'p99',
    'rate',
    `${RATE_WITH_PAUSES} a second: p50`,
    'p99',
    'one conn.: p50',
    'p99',
    `CPU µs at ${connections}: server, PostgreSQL`,
    'at 1',
    'peak MiB',
    'generator busy: full rate, half',
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
  const targets = compare(measured, connections).map((each) => targetLine(each, connections));
  return [title, ...aligned(rows), ...targets, ...bound, ...measured.profiles.map(profileLine)].join('\n');
}

/** The parts in descending order of time. */
function profileLine({ side, connections, micros }: Profile): string {
  const parts = Object.entries(micros).sort(([, one], [, other]) => other - one);
  const all = parts.reduce((sum, [, each]) => sum + each, 0);
  const byPart = parts.map(([part, each]) => `${part} ${each.toFixed(1)}`).join(', ');
  return `  main thread of the ${side}, ${connections} conn., µs a request: ${all.toFixed(0)} (${byPart})`;
}

const LOOPS = { closed: 'closed loop', open: 'fixed rate' } as const;

function sideCells(side: SideResult, counts: readonly number[], connections: number): string[] {
  const { perSecond: rates, rounds, latency, cost, generatorBusy } = side;
  const ms = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(2)} ms`);
  return [
    ...counts.map((count) => (rates[count] === undefined ? '–' : perSecond(rates[count]))),
    difference(rounds[connections] ?? []),
    ms(latency?.halfPeak.p50),
    ms(latency?.halfPeak.p99),
    latency === undefined ? '–' : perSecond(latency.halfPeak.rate),
    ms(latency?.withPauses?.p50),
    ms(latency?.withPauses?.p99),
    ms(latency?.withoutPauses.p50),
    ms(latency?.withoutPauses.p99),
    microsText(cost[connections]),
    microsText(cost[1]),
    cost[connections]?.peakMiB.toFixed(0) ?? '–',
    latency === undefined
      ? percent(generatorBusy.closed)
      : `${percent(generatorBusy.closed)}, ${percent(generatorBusy.open)}`,
  ];
}

/**
 * The difference between the fastest and slowest round, relative to the fastest. A large one makes a rate
 * unreliable.
 */
function difference(rates: readonly number[]): string {
  const most = Math.max(...rates);
  return rates.length < 2 ? '–' : percent((most - Math.min(...rates)) / most);
}

function targetLine({ what, ratio, target, verdict }: Comparison, connections: number): string {
  return `  ${verdict.padEnd(9)} ${comparedAs(what, connections)}: ${ratioText(ratio)}, target ${targetText(target)}`;
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
