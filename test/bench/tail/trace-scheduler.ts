// Traces which threads the processors run, with `perf` (the package linux-perf). It needs root.
import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processIds } from '../sides/process-cost.ts';
import { createTimeline, type Role, type Timeline } from './timeline.ts';

export type SchedulerTrace = {
  /** Ends the trace, if it still runs. */
  stop(): Promise<void>;
  /** Ends the trace, and reads it. */
  timeline(): Promise<Timeline>;
};

export type TraceOptions = {
  /** For the file of the trace. */
  readonly directory: string;
  /** Process ids. */
  readonly server: number;
  readonly provider: number;
};

/** perf counts as started if it still runs after this time. */
const EXIT_CHECK_MS = 1_000;
/** A string of V8 has about 512 MiB at most: a trace of a few minutes. */
const MAX_TEXT_BYTES = 500 * 1024 ** 2;

/** @throws Error if `perf` is missing or may not trace the scheduler */
export async function traceScheduler(options: TraceOptions): Promise<SchedulerTrace> {
  const file = join(options.directory, 'scheduler.data');
  const events = ['sched:sched_switch', 'sched:sched_waking'].flatMap((event) => ['-e', event]);
  const settings = ['-a', '--no-buildid', '-k', 'CLOCK_MONOTONIC', '-m', '4M'];
  const perf = spawn('perf', ['record', ...settings, ...events, '-o', file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => perf.once('exit', resolve).once('error', resolve));
  if (await Promise.race([ended.then(() => true), sleep(EXIT_CHECK_MS, false)])) {
    throw new Error('perf record did not start: install linux-perf, and run as root');
  }
  const stop = async (): Promise<void> => {
    perf.kill('SIGINT');
    await ended;
  };
  return {
    stop,
    async timeline() {
      const roles = rolesOf(options);
      await stop();
      const { stdout } = await promisify(execFile)(
        'perf',
        ['script', '-i', file, '-F', 'cpu,time,event,trace', '--show-lost-events'],
        { maxBuffer: MAX_TEXT_BYTES },
      );
      const lost = stdout.match(/PERF_RECORD_LOST/g)?.length ?? 0;
      if (lost > 0) process.stderr.write(`perf lost events ${lost} times\n`);
      return createTimeline(stdout, roles);
    },
  };
}

type Ids = Omit<TraceOptions, 'directory'>;

/** By thread id. Threads that end before the trace stops have no role, so their time counts as that of others. */
function rolesOf({ server, provider }: Ids): Map<number, Role> {
  const roles = new Map<number, Role>();
  for (const pid of processIds()) {
    const role = roleOf(pid, { server, provider });
    if (role === undefined) continue;
    for (const thread of threadsOf(pid)) roles.set(thread, role);
  }
  roles.set(server, 'main');
  return roles;
}

function roleOf(pid: number, { server, provider }: Ids): Role | undefined {
  if (pid === server) return 'server';
  if (pid === provider) return 'provider';
  if (pid === process.pid) return 'generator';
  try {
    const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    return name === 'postgres' ? 'postgres' : name.startsWith('redis') ? 'redis' : undefined;
  } catch {
    return undefined; // it has just ended
  }
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}
