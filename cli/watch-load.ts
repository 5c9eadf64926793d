// What a hub is at, line by line, and how it went lately.
import { setTimeout } from 'node:timers/promises';
import { type Load, loadOf } from '../story/load.ts';
import { createInterval, createReading, type Reading } from '../story/metric-reading.ts';
import { endure } from './endure.ts';
import { printable } from './printable.ts';
import { createScreen } from './screen.ts';
import { sparkLine } from './spark-line.ts';
import { type Column, createTable } from './table.ts';
import type { Tools } from './tools.ts';

/** So many looks are remembered, and shown as far as there is room. */
const REMEMBERED = 120;
const TREND = 12;

/** Reads the metrics of the hub. */
export async function readMetrics(tools: Tools): Promise<Reading> {
  const { metrics } = await tools.hub('metrics');
  const { families } = await metrics.readMetrics({});
  return createReading(families, performance.now());
}

/** What the hub was at for that many seconds. */
export async function lookAtLoad(tools: Tools, seconds: number): Promise<Load> {
  const before = await readMetrics(tools);
  await setTimeout(seconds * 1000);
  const after = await readMetrics(tools);
  return loadOf(after, createInterval(before, after), new Date());
}

/** Draws it again and again. @throws what a look throws at first, or for as long as nobody puts up with */
export async function watchLoad(tools: Tools, seconds: number): Promise<never> {
  const { streams, out, progress } = tools;
  const quiet = progress.show(undefined); // what takes long is told on the screen itself
  const screen = createScreen(streams, out);
  const history: Load[] = [];
  let trouble: string | undefined;
  const { server } = await tools.target();
  const draw = async (): Promise<void> => {
    const latest = history.at(-1);
    const when = `${new Date().toISOString().slice(11, 19)}Z`;
    const { rows } = screen.size();
    await screen.draw([
      `${when}  hub ${latest?.version ?? ''} at ${server}, every ${seconds} s; Ctrl-C ends`,
      trouble ?? '',
      ...(latest === undefined ? ['Counting …'] : fitting(latest, history, rows - 3)),
    ]);
  };
  const hub = endure(tools, (message) => {
    trouble = message && printable(message);
    void draw();
  });
  try {
    let before = await hub(() => readMetrics(tools));
    for (;;) {
      await draw();
      await setTimeout(seconds * 1000);
      const after = await hub(() => readMetrics(tools));
      history.push(loadOf(after, createInterval(before, after), new Date()));
      if (history.length > REMEMBERED) history.shift();
      before = after;
    }
  } finally {
    quiet.end();
  }
}

/** As many of the requests as there is room for; all else is few lines. */
function fitting(load: Load, history: readonly Load[], rows: number): string[] {
  const lines = linesOf(load, history);
  const more = lines.length - rows;
  if (more <= 0) return lines;
  const requests = load.requests.slice(0, Math.max(1, load.requests.length - more - 1));
  return linesOf({ ...load, requests }, history);
}

/** The whole of it. Without a history there are no trends. */
export function linesOf(load: Load, history: readonly Load[] = []): string[] {
  const trend = (figureOf: (past: Load) => number): string =>
    history.length === 0 ? '' : `${sparkLine(history.map(figureOf), TREND)}  `;
  const { callbacks, sessions, licenses, database, process } = load;
  const refused = Object.entries(load.refusedPerSecond).map(([limit, rate]) => `${limit} ${rate}/s`);
  const facts: [string, string][] = [
    [
      'Callbacks',
      `${trend((past) => past.callbacks.perSecond)}${callbacks.perSecond}/s, settled ${callbacks.settledPerSecond}/s; ${waitingText(callbacks)}`,
    ],
    [
      'Sessions',
      `${trend((past) => past.sessions.paidPerSecond)}paid ${sessions.paidPerSecond}/s, created ${sessions.createdPerSecond}/s; ${countText(sessions.pending)} pending`,
    ],
    [
      'Licenses',
      `${trend((past) => past.licenses.activationsPerSecond)}activated ${licenses.activationsPerSecond}/s; seats taken ${licenses.seatsTakenPerSecond}/s, released ${licenses.seatsReleasedPerSecond}/s, in use ${countText(licenses.seatsActive)}`,
    ],
    ['Refused', `${trend(refusedPerSecond)}${refused.join(', ') || 'nothing'}`],
    [
      'Database',
      database.up
        ? `${trend((past) => past.database.connections)}${database.connections} of ${database.limit} connections busy, ${database.waiting} waiting`
        : 'does not answer',
    ],
    [
      'Process',
      `${trend((past) => past.process.cpu)}${process.cpu} processors, ${Math.round(process.memoryBytes / 1e6)} MB, event loop late by ${msText(process.eventLoopP99Ms)}; ${process.workers} serving`,
    ],
  ];
  return [
    ...table(load.requests, requestColumns(history), 'No requests.'),
    '',
    ...(load.providers.length === 0 ? [] : [...table(load.providers, providerColumns(history), ''), '']),
    ...facts.map(([title, text]) => `${title.padEnd(10)} ${text}`),
  ];
}

function refusedPerSecond({ refusedPerSecond: byLimit }: Load): number {
  return Object.values(byLimit).reduce((sum, rate) => sum + rate, 0);
}

type Requests = Load['requests'][number];
type Provider = Load['providers'][number];

function requestColumns(history: readonly Load[]): Column<Requests>[] {
  const rateOf = (past: Load, name: string) =>
    past.requests.find((each) => each.name === name)?.perSecond ?? 0;
  return [
    { title: 'REQUESTS', cell: (item) => item.name },
    ...trendColumn<Requests>(history, (past, { name }) => rateOf(past, name)),
    { title: 'PER SECOND', cell: (item) => item.perSecond, right: true },
    { title: 'FAILED', cell: (item) => item.errorsPerSecond, right: true },
    { title: 'P50', cell: (item) => msText(item.p50Ms), right: true },
    { title: 'P99', cell: (item) => msText(item.p99Ms), right: true },
  ];
}

function providerColumns(history: readonly Load[]): Column<Provider>[] {
  const rateOf = (past: Load, slot: string) =>
    past.providers.find((each) => each.slot === slot)?.questionsPerSecond ?? 0;
  return [
    { title: 'QUESTIONS TO', cell: (item) => item.slot },
    ...trendColumn<Provider>(history, (past, { slot }) => rateOf(past, slot)),
    { title: 'PER SECOND', cell: (item) => item.questionsPerSecond, right: true },
    { title: 'FAILED', cell: (item) => item.failuresPerSecond, right: true },
    { title: 'P50', cell: (item) => msText(item.p50Ms), right: true },
    { title: 'P99', cell: (item) => msText(item.p99Ms), right: true },
    { title: 'UNDER WAY', cell: (item) => item.underWay, right: true },
    { title: 'WAITING', cell: (item) => item.waiting, right: true },
  ];
}

function trendColumn<T>(history: readonly Load[], rateOf: (past: Load, item: T) => number): Column<T>[] {
  if (history.length === 0) return [];
  return [
    {
      title: 'TREND',
      cell: (item) =>
        sparkLine(
          history.map((past) => rateOf(past, item)),
          TREND,
        ),
    },
  ];
}

function table<T>(items: readonly T[], columns: readonly Column<T>[], none: string): string[] {
  if (items.length === 0) return [none];
  const layout = createTable(columns);
  return [layout.header(items), ...layout.rows(items).trimEnd().split('\n')];
}

function waitingText({ waiting, oldestWaitingSeconds, stray, dead }: Load['callbacks']): string {
  const oldest = (oldestWaitingSeconds ?? 0) > 0 ? ` (the oldest ${oldestWaitingSeconds} s)` : '';
  return `${countText(waiting)} waiting${oldest}, ${countText(stray)} stray, ${countText(dead)} dead`;
}

function countText(count: number | undefined): string {
  return count === undefined ? '?' : String(count);
}

function msText(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '-' : `${milliseconds} ms`;
}
