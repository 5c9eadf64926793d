// Sends the same requests to hubs on databases of different sizes in turn, so that a disturbance affects all
// of them.
import { query } from '../../support/postgres/databases.ts';
import { closedLoop } from '../load/closed-loop.ts';
import { untilCalm } from '../measure.ts';
import { usageOf } from '../sides/process-cost.ts';
import { warmUp } from '../warm-up.ts';
import type { Population } from './population.ts';
import { OPERATIONS, type Operation, requestsFor } from './requests.ts';

export type Candidate = {
  readonly databaseUrl: string;
  readonly population: Population;
  readonly port: number;
  /** The process id of the hub. */
  readonly pid: number;
};

export type Figures = {
  /** Requests per second with 32 connections, in each round. */
  readonly perSecond: readonly number[];
  /** Milliseconds with one connection, in each round. */
  readonly alone: readonly number[];
  /** CPU microseconds of the hub per request, in each round. */
  readonly cpuMicros: readonly number[];
  /** Bytes of write-ahead log per request, in each round, including writes after the response. */
  readonly walBytes: readonly number[];
};

const CONNECTIONS = 32;
/** With 10 000 licenses, requests reach a license again after 5 000 requests, and a session after 500. */
const REQUESTS = 2_000;
const REQUESTS_ALONE = 300;

export async function measureScale(
  candidates: readonly Candidate[],
  rounds: number,
  say: (line: string) => void,
): Promise<Record<Operation, Figures>[]> {
  const figures = candidates.map(() => emptyFigures());
  for (const candidate of candidates) {
    const rates = await warm(candidate);
    say(
      `warmed up, ${candidate.population.licenses}: ${rates.map(Math.round).join(', ')} status checks a second`,
    );
  }
  for (let round = 0; round <= rounds; round++) {
    for (const operation of OPERATIONS) {
      for (const [index, candidate] of candidates.entries()) {
        const measured = await measureOnce(candidate, operation, round);
        // The first round is a warm-up, mainly for activations.
        if (round > 0) add(figures[index]?.[operation], measured);
        say(
          `round ${round}: ${operation}, ${candidate.population.licenses}: ${Math.round(measured.perSecond)}/s`,
        );
      }
    }
  }
  return figures;
}

/**
 * Warms up until the rate stops rising. Callbacks add rows, so they get a shorter time than operations that
 * only update one.
 */
async function warm({ population, port }: Candidate): Promise<number[]> {
  const windows: Partial<Record<Operation, number>> = { status: 8, reactivate: 8, callback: 3 };
  const rates: Partial<Record<Operation, number[]>> = {};
  for (const operation of OPERATIONS) {
    const windowsAtMost = windows[operation];
    if (windowsAtMost === undefined) continue;
    const requests = requestsFor(operation, population, REQUESTS, 0);
    let sent = 0;
    const next = (): string | undefined => requests[sent++ % requests.length];
    rates[operation] = await warmUp({ windowSeconds: 1, windowsAtMost }, async (seconds) => {
      const { perSecond } = await closedLoop({ port, connections: CONNECTIONS, seconds, next });
      return perSecond;
    });
  }
  return rates.status ?? [];
}

type Measured = { readonly [K in keyof Figures]: number };

async function measureOnce(
  { databaseUrl, population, port, pid }: Candidate,
  operation: Operation,
  round: number,
): Promise<Measured> {
  const requests = requestsFor(operation, population, REQUESTS, round);
  const alone = requestsFor(operation, population, REQUESTS_ALONE, round + 1_000);
  await untilCalm([{ pid }]);
  const single = await closedLoop({ port, connections: 1, seconds: 60, next: () => alone.pop() });
  await untilCalm([{ pid }]);
  const [walBefore, cpuBefore] = [await walPosition(databaseUrl), usageOf(pid)?.cpuSeconds ?? 0];
  const { perSecond } = await closedLoop({
    port,
    connections: CONNECTIONS,
    seconds: 60,
    next: () => requests.pop(),
  });
  await untilCalm([{ pid }]);
  const [walAfter, cpuAfter] = [await walPosition(databaseUrl), usageOf(pid)?.cpuSeconds ?? 0];
  return {
    perSecond,
    alone: 1_000 / single.perSecond,
    cpuMicros: ((cpuAfter - cpuBefore) * 1e6) / REQUESTS,
    walBytes: (walAfter - walBefore) / REQUESTS,
  };
}

async function walPosition(databaseUrl: string): Promise<number> {
  const [row] = await query<{ bytes: string }>(
    databaseUrl,
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`,
  );
  return Number(row?.bytes);
}

function emptyFigures(): Record<Operation, { [K in keyof Figures]: number[] }> {
  const none = () => ({ perSecond: [], alone: [], cpuMicros: [], walBytes: [] });
  return { status: none(), activate: none(), reactivate: none(), callback: none() };
}

function add(to: { [K in keyof Figures]: number[] } | undefined, measured: Measured): void {
  to?.perSecond.push(measured.perSecond);
  to?.alone.push(measured.alone);
  to?.cpuMicros.push(measured.cpuMicros);
  to?.walBytes.push(measured.walBytes);
}
