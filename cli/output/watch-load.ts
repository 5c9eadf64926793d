// Shows a hub's throughput and latency live, with sparklines of recent history.
import { setTimeout } from 'node:timers/promises';
import { createInterval, createReading, type Reading } from '../../lib/presentation/metric-reading.ts';
import { computeThroughput, type Throughput } from '../../lib/presentation/throughput.ts';
import type { CommandContext } from '../command-context.ts';
import { retryWhileDown } from '../connect/retry-while-down.ts';
import { printable } from './printable.ts';
import { createScreen } from './screen.ts';
import { sparkLine } from './spark-line.ts';
import { type Column, createTable } from './table.ts';

/** Number of samples to keep; the screen shows as many as fit. */
const HISTORY_SIZE = 120;
const TREND = 12;

export async function readMetrics(commandContext: CommandContext): Promise<Reading> {
  const { families } = await commandContext.hub.metrics.readMetrics({});
  return createReading(families, performance.now());
}

export async function lookAtLoad(commandContext: CommandContext, seconds: number): Promise<Throughput> {
  const before = await readMetrics(commandContext);
  await setTimeout(seconds * 1000);
  const after = await readMetrics(commandContext);
  return computeThroughput(after, createInterval(before, after), new Date());
}

/** Redraws until the program is stopped. @throws the first poll's error, or one that lasts five minutes */
export async function watchLoad(commandContext: CommandContext, seconds: number): Promise<never> {
  const { streams, out, progress } = commandContext;
  const quiet = progress.show(undefined); // the screen itself reports slow polls
  const screen = createScreen(streams, out);
  const history: Throughput[] = [];
  let trouble: string | undefined;
  const { server } = await commandContext.target();
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
  const hub = retryWhileDown(commandContext, (message) => {
    trouble = message && printable(message);
    void draw();
  });
  try {
    let before = await hub(() => readMetrics(commandContext));
    for (;;) {
      await draw();
      await setTimeout(seconds * 1000);
      const after = await hub(() => readMetrics(commandContext));
      history.push(computeThroughput(after, createInterval(before, after), new Date()));
      if (history.length > HISTORY_SIZE) history.shift();
      before = after;
    }
  } finally {
    quiet.end();
  }
}

/** Draws as many requests as fit; the rest takes a few lines. */
function fitting(load: Throughput, history: readonly Throughput[], rows: number): string[] {
  const lines = linesOf(load, history);
  const more = lines.length - rows;
  if (more <= 0) return lines;
  const requests = load.requests.slice(0, Math.max(1, load.requests.length - more - 1));
  return linesOf({ ...load, requests }, history);
}

/** Formats the whole load. Without a history there are no sparklines. */
export function linesOf(load: Throughput, history: readonly Throughput[] = []): string[] {
  const trend = (figureOf: (past: Throughput) => number): string =>
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

function refusedPerSecond({ refusedPerSecond: byLimit }: Throughput): number {
  return Object.values(byLimit).reduce((sum, rate) => sum + rate, 0);
}

type Requests = Throughput['requests'][number];
type Provider = Throughput['providers'][number];

function requestColumns(history: readonly Throughput[]): Column<Requests>[] {
  const rateOf = (past: Throughput, name: string) =>
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

function providerColumns(history: readonly Throughput[]): Column<Provider>[] {
  const rateOf = (past: Throughput, slot: string) =>
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

function trendColumn<T>(
  history: readonly Throughput[],
  rateOf: (past: Throughput, item: T) => number,
): Column<T>[] {
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

function waitingText({ waiting, oldestWaitingSeconds, stray, dead }: Throughput['callbacks']): string {
  const oldest = (oldestWaitingSeconds ?? 0) > 0 ? ` (the oldest ${oldestWaitingSeconds} s)` : '';
  return `${countText(waiting)} waiting${oldest}, ${countText(stray)} stray, ${countText(dead)} dead`;
}

function countText(count: number | undefined): string {
  return count === undefined ? '?' : String(count);
}

function msText(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '-' : `${milliseconds} ms`;
}
