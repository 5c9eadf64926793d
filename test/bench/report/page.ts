// Writes the results as tables into test/bench/README.md, between two markers.
import { PARTS, type Part } from '../profile/by-part.ts';
import type { Profile } from '../profile/profile-case.ts';
import {
  areFew,
  busyWarning,
  type Comparison,
  compare,
  generatorBound,
  type MeasuredCase,
  type Results,
  rateRatio,
} from './results.ts';
import { conditions, microsText, percent, ratioText, SIDES, sideName, wanted } from './words.ts';

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
  [
    'hub over peer',
    `requests at ${connections} connections`,
    'at 256',
    'p99 at 70 % load',
    'time at 1 connection',
    `over the bare peer at ${connections}, at 1`,
    `over the floor at ${connections}, at 1`,
  ],
  cases.map((each) => markCells(each, connections)),
)}

${table(
  [
    'a second',
    '1 conn.',
    String(connections),
    '256',
    'p50, p99, p99.9 in ms',
    'of requests',
    'CPU, and of PostgreSQL, µs a request',
    'at 1 conn.',
    'MiB',
    'generator busy',
  ],
  cases.flatMap((each) => figureRows(each, connections)),
)}

${table(
  ['µs a request', 'all', ...PARTS],
  cases.flatMap(({ title, profiles }) => profiles.map((profile) => profileCells(title, profile))),
)}
`;
}

function markCells(measured: MeasuredCase, connections: number): string[] {
  const comparisons = compare(measured, connections);
  const { hub, peer, bare, floor } = measured.sides;
  const judged = (what: Comparison['what']): string => {
    const found = comparisons.find((each) => each.what === what);
    if (found === undefined) return '–';
    const { over, ratio, verdict, mark } = found;
    return `${verdict} ${ratioText(ratio)}${over === 'floor' ? ' of the floor' : ''}, ${wanted(mark)}`;
  };
  return [
    measured.title,
    judged('throughput'),
    ratioText(rateRatio(hub, peer, 256)),
    judged('p99'),
    judged('alone'),
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
        latency === undefined
          ? '–'
          : [latency.p50, latency.p99, latency.p999].map((ms) => ms.toFixed(1)).join(', '),
        latency === undefined ? '–' : `${latency.requests}${areFew(latency.requests) ? ' (few)' : ''}`,
        microsText(cost[connections]),
        microsText(cost[1]),
        cost[connections]?.peakMiB.toFixed(0) ?? '–',
        `${busy.map(percent).join(', ')}${bound}`,
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
