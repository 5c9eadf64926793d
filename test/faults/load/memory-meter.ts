// Loaded into a hub by --import: prints its memory and its event loop delay, one line at a time.
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export type Reading = {
  /** Milliseconds since the hub began. */
  readonly at: number;
  /** Bytes of the heap in use right after a full collection. */
  readonly heap: number;
  /** Bytes of resident memory. */
  readonly resident: number;
  /** Milliseconds that timers were late, over the whole of the time so far: 99 of 100, and the worst. */
  readonly lateP99: number;
  readonly lateMost: number;
};

export const METER_FILE = 'METER_FILE';
export const METER_EVERY_MS = 'METER_EVERY_MS';

const file = process.env[METER_FILE];
if (file !== undefined) startMeter(file, Number(process.env[METER_EVERY_MS] ?? 10_000));

function startMeter(path: string, everyMs: number): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const lateness = monitorEventLoopDelay({ resolution: 10 });
  let isWarm = false;
  setInterval(() => {
    // The collection is this meter's, not the hub's.
    lateness.disable();
    collect();
    const { heapUsed, rss } = process.memoryUsage();
    const reading: Reading = {
      at: Math.round(performance.now()),
      heap: heapUsed,
      resident: rss,
      lateP99: milliseconds(lateness.percentile(99)),
      lateMost: milliseconds(lateness.max),
    };
    // Its first interval is the start, which compiles and migrates.
    if (isWarm) appendFileSync(path, `${JSON.stringify(reading)}\n`);
    else lateness.reset();
    isWarm = true;
    lateness.enable();
  }, everyMs).unref();
  lateness.enable();
}

/** The resolution is part of what the histogram counts. */
function milliseconds(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e6 - 10));
}
