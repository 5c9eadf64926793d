// Loaded into a hub by --import: writes its memory use and event loop delay, one line per reading.
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export type Reading = {
  /** Milliseconds since the start of the hub. */
  readonly at: number;
  /** Bytes of the heap in use after a full collection. */
  readonly heap: number;
  /** Bytes of resident memory. */
  readonly resident: number;
  /** The delay of timers in milliseconds over the whole time so far: p99 and maximum. */
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
    // Excludes this meter's own collection from the delay.
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
    // The first interval is the startup, with compilation and migrations.
    if (isWarm) appendFileSync(path, `${JSON.stringify(reading)}\n`);
    else lateness.reset();
    isWarm = true;
    lateness.enable();
  }, everyMs).unref();
  lateness.enable();
}

/** The histogram includes its resolution of 10 ms, which is subtracted here. */
function milliseconds(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e6 - 10));
}
