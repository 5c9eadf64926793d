// Metrics of the process: CPU, memory, open files, event loop delay.
import { readdir, readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

export type ProcessFacts = {
  readonly version: string;
  /** The role of this process: `all`, `core` or `gateway`. */
  readonly role: string;
};

/** The interval at which the delay of the event loop is sampled. */
const LOOK_MS = 100;
const LATE_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The names that begin with `process_` and `nodejs_` are those of prom-client's default metrics. */
export function measureProcess(metrics: Metrics, { version, role }: ProcessFacts) {
  metrics.gauge(
    {
      name: 'hub_build_info',
      help: 'Version and platform of the hub; always 1.',
      aggregator: 'max',
      labelNames: ['version', 'role', 'node'],
    },
    () => [{ labels: { version, role, node: process.versions.node }, value: 1 }],
  );
  metrics.observedCounter(
    { name: 'process_cpu_seconds_total', help: 'Processor time, of user and system together.' },
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  );
  metrics.observedCounter(
    { name: 'nodejs_eventloop_active_seconds_total', help: 'Time that the event loop was busy.' },
    () => performance.eventLoopUtilization().active / 1_000,
  );
  const late = metrics.histogram({
    name: 'hub_event_loop_delay_seconds',
    help: 'Delay of the event loop, sampled ten times a second.',
    buckets: LATE_BOUNDS,
  });
  metrics.gauge(
    {
      name: 'process_start_time_seconds',
      help: 'Start time of the process, in seconds since 1970; of several processes the earliest.',
      aggregator: 'min',
    },
    () => performance.timeOrigin / 1_000,
  );
  metrics.gauge(
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process, or of all workers without their parent process.',
    },
    () => process.memoryUsage.rss(),
  );
  metrics.gauge(
    { name: 'nodejs_heap_size_used_bytes', help: 'Used part of the JavaScript heap.' },
    () => process.memoryUsage().heapUsed,
  );
  metrics.gauge({ name: 'process_open_fds', help: 'Open file descriptors, on Linux.' }, openFiles);
  metrics.gauge(
    {
      name: 'process_max_fds',
      help: 'Limit of file descriptors of a process, on Linux; of several processes the lowest.',
      aggregator: 'min',
    },
    maxOpenFiles,
  );

  let due = performance.now() + LOOK_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    late.observe(Math.max(0, now - due) / 1_000);
    due = now + LOOK_MS;
  }, LOOK_MS);
  timer.unref();
  return { stop: (): void => clearInterval(timer) };
}

async function openFiles(): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  return (await readdir('/proc/self/fd')).length - 1; // the one it is read by
}

async function maxOpenFiles(): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const [, soft] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
