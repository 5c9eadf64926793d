// Writes the results as tables into test/bench/README.md, between two markers.
import type { Latency } from '../load/latency.ts';
import { RATE_WITH_PAUSES } from '../measurement-plan.ts';
import { PARTS, type Part } from '../profile/by-part.ts';
import type { Profile } from '../profile/profile-case.ts';
import {
  areFew,
  busyWarning,
  COMPARED,
  type Comparison,
  compare,
  generatorBound,
  type MeasuredCase,
  type Results,
  rateRatio,
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

const BEGIN = '<!-- figures: written by npm run bench -->';
const END = '<!-- /figures -->';

/** @throws Error if the page lacks the markers */
export function withFigures(page: string, results: Results): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`the page has no "${BEGIN}" and "${END}" after it`);
  return `${page.slice(0, begin + BEGIN.length)}\n${resultsPage(results)}${page.slice(end)}`;
}

export function resultsPage(results: Results): string {
  const { machine, cases, connections } = results;
  const warning = busyWarning(machine);
  return `${conditions(results)}.
${warning === undefined ? '' : `\n${warning}\n`}
${table(
  ['ratio of hub to peer', ...COMPARED.map((what) => comparedAs(what, connections))],
  cases.map((each) => targetCells(each, connections)),
)}

${table(
  [
    'throughput at 256, 32 and 1 connections: ratio of hub to',
    'the peer at 256',
    `the bare peer at ${connections}, at 1`,
    `the floor at ${connections}, at 1`,
  ],
  cases.map((each) => ratioCells(each, connections)),
)}

${table(
  [
    'requests a second',
    '1 conn.',
    String(connections),
    '256',
    `CPU at ${connections} conn.: server, PostgreSQL, µs a request`,
    'the same at 1 conn.',
    `peak memory at ${connections}, MiB`,
    "generator busy: throughput rounds, half of the peer's peak",
  ],
  cases.flatMap((each) => figureRows(each, connections)),
)}

${table(
  [
    'p50, p99, p99.9 in ms',
    'one connection',
    'requests measured',
    `${RATE_WITH_PAUSES} a second`,
    'requests measured',
    "half of the peer's peak, a second",
    'p50, p99, p99.9 at this rate',
    'requests measured',
  ],
  cases.flatMap(latencyRows),
)}

### Time of the main thread by part

The profile measures elapsed time without idle time, so it includes waits for a processor. "all" is the sum of the parts. "pg" is
PostgreSQL's driver, "framework" is Connect and Protobuf in the hub and Fastify in the peer, and "other" is other packages.

${table(
  ['µs a request', 'all', ...PARTS],
  cases.flatMap(({ title, profiles }) => profiles.map((profile) => profileCells(title, profile))),
)}
`;
}

function targetCells(measured: MeasuredCase, connections: number): string[] {
  const comparisons = compare(measured, connections);
  const judged = (what: Comparison['what']): string => {
    const found = comparisons.find((each) => each.what === what);
    return found === undefined
      ? '–'
      : `${found.verdict} ${ratioText(found.ratio)}, ${targetText(found.target)}`;
  };
  return [measured.title, ...COMPARED.map(judged)];
}

function ratioCells(
  { title, sides: { hub, peer, bare, floor } }: MeasuredCase,
  connections: number,
): string[] {
  return [
    title,
    ratioText(rateRatio(hub, peer, 256)),
    ...[bare, floor].map((side) =>
      [connections, 1].map((at) => ratioText(rateRatio(hub, side, at))).join(', '),
    ),
  ];
}

function figureRows(measured: MeasuredCase, connections: number): string[][] {
  return SIDES.flatMap((name) => {
    const side = measured.sides[name];
    if (side === undefined) return [];
    const { perSecond, latency, cost, generatorBusy } = side;
    const bound = generatorBound(side).length > 0 ? ', generator-bound' : '';
    const busy = [generatorBusy.closed, ...(latency === undefined ? [] : [generatorBusy.open])];
    return [
      [
        `${measured.title}: ${sideName(name, measured)}`,
        ...[1, connections, 256].map((at) => perSecond[at]?.toFixed(0) ?? '–'),
        microsText(cost[connections]),
        microsText(cost[1]),
        cost[connections]?.peakMiB.toFixed(0) ?? '–',
        `${busy.map(percent).join(', ')}${bound}`,
      ],
    ];
  });
}

function latencyRows(measured: MeasuredCase): string[][] {
  return SIDES.flatMap((name) => {
    const latency = measured.sides[name]?.latency;
    if (latency === undefined) return [];
    const { withoutPauses, halfPeak, withPauses } = latency;
    const cells = (each: Latency | undefined): string[] => {
      if (each === undefined) return ['–', '–'];
      const { p50, p99, p999, requests } = each;
      const quantiles = [p50, p99, p999].map((ms) => ms.toFixed(ms < 1 ? 2 : 1)).join(', ');
      return [quantiles, `${requests}${areFew(requests) ? ' (few)' : ''}`];
    };
    return [
      [
        `${measured.title}: ${sideName(name, measured)}`,
        ...cells(withoutPauses),
        ...cells(withPauses),
        halfPeak.rate.toFixed(0),
        ...cells(halfPeak),
      ],
    ];
  });
}

function profileCells(title: string, { side, connections, micros }: Profile): string[] {
  const all = Object.values(micros).reduce((sum, each) => sum + each, 0);
  const cell = (part: Part): string => (micros[part] ?? 0).toFixed(1);
  return [`${title}, ${connections} conn.: ${side}`, all.toFixed(0), ...PARTS.map(cell)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
