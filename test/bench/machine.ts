// Describes the machine that runs the benchmark, and how busy it is.
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { query } from '../support/postgres/databases.ts';
import type { Machine } from './report/results.ts';

/** Measured before the benchmark starts any program. */
export type Busy = Pick<Machine, 'loadBefore' | 'busyBefore'>;

const SAMPLE_MS = 1_000;

export async function howBusy(): Promise<Busy> {
  const before = processorTimes();
  await setTimeout(SAMPLE_MS);
  const after = processorTimes();
  const busyBefore = 1 - (after.idle - before.idle) / (after.all - before.all);
  return { loadBefore: loadavg()[0] ?? 0, busyBefore };
}

export async function describeMachine(databaseUrl: string, busy: Busy): Promise<Machine> {
  const [row] = await query<{ server_version: string }>(databaseUrl, 'show server_version');
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown processor',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres: row?.server_version ?? 'unknown',
    ...busy,
  };
}

/** Times of all processors together since boot. */
function processorTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((processor) => processor.times);
  const sum = (of: (each: (typeof times)[number]) => number): number =>
    times.reduce((total, each) => total + of(each), 0);
  return {
    idle: sum(({ idle }) => idle),
    all: sum((each) => Object.values(each).reduce((a, b) => a + b, 0)),
  };
}
