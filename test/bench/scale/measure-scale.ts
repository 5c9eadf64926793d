// Sends the same requests to hubs on databases of different sizes in turn, so that a disturbance affects all
// of them.
import { setTimeout } from 'node:timers/promises';
import { query } from '../../support/postgres/databases.ts';
import { closedLoop } from '../load/closed-loop.ts';
import { waitForDeferred, waitUntilIdle } from '../measure.ts';
import { DEFERRED } from '../sides/hub.ts';
import { postgresDiskBytes, usageOf } from '../sides/process-cost.ts';
import { countOf } from '../test-data.ts';
import { warmUp } from '../warm-up.ts';
import type { Population } from './population.ts';
import { readTables } from './prewarm.ts';
import {
  type Load,
  licensesOf,
  OPERATIONS,
  type Operation,
  requestsFor,
  SAME_TARGETS,
  type Targets,
} from './requests.ts';
import { addSettlements, SETTLEMENTS, type SettlementLoad } from './settlements.ts';

export type Candidate = {
  readonly databaseUrl: string;
  readonly population: Population;
  readonly port: number;
  /** The process id of the hub. */
  readonly pid: number;
};

/** The operation of a load, and the rows that it concerns. */
export type LoadKind = Pick<Load, 'operation' | 'targets'> | Pick<SettlementLoad, 'operation' | 'targets'>;

export type Figures = LoadKind & { readonly rounds: readonly Round[] };

export type Round = {
  /** Requests per second with 32 connections. */
  readonly perSecond: number;
  /** Milliseconds with one connection. */
  readonly latencyMs: number;
  /** CPU microseconds of the hub per request. */
  readonly cpuMicros: number;
  /** Bytes of write-ahead log of the server per request, including writes after the response. */
  readonly walBytes: number;
  /** Bytes that PostgreSQL read from the disk per request. Undefined if the system does not report it. */
  readonly diskBytes: number | undefined;
};

const CONNECTIONS = 32;
/** With 10 000 licenses, spread requests reach a license again after 5 000 requests, and a session after 500. */
export const REQUESTS = 2_000;
export const SINGLE_REQUESTS = 300;
/** Added to the turn of requests with one connection, so that they concern other licenses. */
const SINGLE_TURN_OFFSET = 1_000;

export type MeasureOptions = {
  readonly targets: readonly Targets[];
  readonly rounds: number;
  readonly say: (line: string) => void;
  /**
   * The number of the round that warms up. The measured rounds follow. Spread requests of rounds with the same number
   * concern the same licenses and sessions.
   */
  readonly firstTurn: number;
  /** Whether to read the tables of the requests before each measurement of others than the same licenses. */
  readonly cached?: boolean;
};

/** The figures of each candidate, by operation and targets. */
export async function measureScale(
  candidates: readonly Candidate[],
  { targets: kinds, rounds, say, firstTurn, cached = false }: MeasureOptions,
): Promise<Figures[][]> {
  const loads: readonly LoadKind[] = [
    ...OPERATIONS.flatMap((operation) => kinds.map((targets) => ({ operation, targets }))),
    ...SETTLEMENTS.map((operation) => ({ operation, targets: 'new' as const })),
  ];
  const figures = candidates.map(() => loads.map((kind) => ({ ...kind, rounds: [] as Round[] })));
  for (const candidate of candidates) {
    const rates = await warm(candidate);
    say(
      `warmed up, ${candidate.population.licenses}: ${rates.map(Math.round).join(', ')} soft checks a second`,
    );
  }
  for (let turn = firstTurn; turn <= firstTurn + rounds; turn++) {
    for (const [position, kind] of loads.entries()) {
      for (const [index, candidate] of candidates.entries()) {
        if (cached && kind.targets !== 'same') await readTables(candidate.databaseUrl);
        const round = await measureOnce(candidate, { ...kind, count: REQUESTS, turn });
        // The first round is a warm-up, mainly for activations.
        if (turn > firstTurn) figures[index]?.[position]?.rounds.push(round);
        say(
          `round ${turn}: ${kind.operation}, ${kind.targets}, ${candidate.population.licenses}: ${Math.round(round.perSecond)}/s`,
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
async function warm(candidate: Candidate): Promise<number[]> {
  const begun = new Date();
  const { population, port, pid } = candidate;
  const windows: Partial<Record<Operation, number>> = { status: 8, reactivate: 8, callback: 3 };
  const rates: Partial<Record<Operation, number[]>> = {};
  for (const operation of OPERATIONS) {
    const windowsAtMost = windows[operation];
    if (windowsAtMost === undefined) continue;
    const load: Load = { operation, targets: 'same', count: SAME_TARGETS, turn: 0 };
    const requests = requestsFor(load, population);
    let sent = 0;
    const next = (): string | undefined => requests[sent++ % requests.length];
    rates[operation] = await warmUp({ windowSeconds: 1, windowsAtMost }, async (seconds) => {
      const { perSecond } = await closedLoop({ port, connections: CONNECTIONS, seconds, next });
      return perSecond;
    });
    await untilUseWritten(pid);
    await resetLicenses(candidate, [load], begun);
  }
  return rates.status ?? [];
}

async function measureOnce(candidate: Candidate, load: Load | SettlementLoad): Promise<Round> {
  const begun = new Date();
  const { databaseUrl, pid } = candidate;
  const database = { deferred: DEFERRED, count: (sql: string) => countOf(databaseUrl, sql) };
  const single = await prepareLoad(candidate, singleOf(load));
  const many = await prepareLoad(candidate, load);
  if (load.targets === 'same' && load.operation !== 'callback') {
    // Then the measured requests have no time of use to write.
    const check: Load = { operation: 'status', targets: 'same', count: SAME_TARGETS, turn: 0 };
    await send(candidate, requestsFor(check, candidate.population), CONNECTIONS);
    await untilUseWritten(pid);
  }
  await waitUntilIdle([{ pid }]);
  const singlePerSecond = await send(candidate, single.requests, 1);
  await single.check();
  await untilUseWritten(pid);
  await waitForDeferred(database);
  const [walBefore, cpuBefore] = [await walPosition(databaseUrl), usageOf(pid)?.cpuSeconds ?? 0];
  const diskBefore = postgresDiskBytes();
  const perSecond = await send(candidate, many.requests, CONNECTIONS);
  await many.check();
  await untilUseWritten(pid);
  await waitForDeferred(database);
  const diskAfter = postgresDiskBytes();
  const [walAfter, cpuAfter] = [await walPosition(databaseUrl), usageOf(pid)?.cpuSeconds ?? 0];
  if (load.targets !== 'new') await resetLicenses(candidate, [singleOf(load), load], begun);
  return {
    perSecond,
    latencyMs: 1_000 / singlePerSecond,
    cpuMicros: ((cpuAfter - cpuBefore) * 1e6) / load.count,
    walBytes: (walAfter - walBefore) / load.count,
    diskBytes:
      diskBefore === undefined || diskAfter === undefined ? undefined : (diskAfter - diskBefore) / load.count,
  };
}

/** The load with one connection that goes with `load`. */
function singleOf<L extends Load | SettlementLoad>(load: L): L {
  return { ...load, count: SINGLE_REQUESTS, turn: load.turn + SINGLE_TURN_OFFSET };
}

type PreparedLoad = {
  readonly requests: string[];
  /** Call it after the responses. @throws Error if the requests had no effect */
  readonly check: () => Promise<void>;
};

async function prepareLoad(
  { databaseUrl, population }: Candidate,
  load: Load | SettlementLoad,
): Promise<PreparedLoad> {
  if (load.targets === 'new') {
    const { requests, checkSettled } = await addSettlements(databaseUrl, population, load);
    return { requests, check: checkSettled };
  }
  return { requests: requestsFor(load, population), check: async () => {} };
}

async function send({ port }: Candidate, requests: string[], connections: number): Promise<number> {
  const next = (): string | undefined => requests.pop();
  return (await closedLoop({ port, connections, seconds: 60, next })).perSecond;
}

/** Waits until the hub has written the times of use, which it does at most once a second: last-seen.ts. */
async function untilUseWritten(pid: number): Promise<void> {
  await setTimeout(1_100);
  await waitUntilIdle([{ pid }]);
}

/**
 * Dates the last use of the licenses of these loads back by a day. So the next request for one of them writes
 * the time of use at every size, and not only where no license is requested twice. Releases their new seats,
 * because a license has only ten.
 */
async function resetLicenses(
  { databaseUrl, population }: Candidate,
  loads: readonly Load[],
  since: Date,
): Promise<void> {
  const licenses = loads.flatMap((load) => licensesOf(load, population));
  const ofLicenses = 'license_id = any($1) and released_at is null';
  await query(databaseUrl, `update seat set released_at = now() where ${ofLicenses} and activated_at >= $2`, [
    licenses,
    since,
  ]);
  await query(
    databaseUrl,
    `with activity as (
       update license_activity set last_active_on = last_active_on - 1 where license_id = any($1)
     )
     update seat set last_seen_at = last_seen_at - interval '1 day' where ${ofLicenses}`,
    [licenses],
  );
}

async function walPosition(databaseUrl: string): Promise<number> {
  const [row] = await query<{ bytes: string }>(
    databaseUrl,
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`,
  );
  return Number(row?.bytes);
}
