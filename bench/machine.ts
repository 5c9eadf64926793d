// What the benchmark runs on.
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { query } from '../test/support/postgres.ts';
import type { Machine } from './report/results.ts';

export async function describeMachine(databaseUrl: string): Promise<Machine> {
  const [row] = await query<{ server_version: string }>(databaseUrl, 'show server_version');
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown processor',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres: row?.server_version ?? 'unknown',
    loadBefore: loadavg()[0] ?? 0,
  };
}
