// Mixed load for a given time on metered hubs: checks that memory is stable and responses are prompt.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { strike } from '../disruptions/strike.ts';
import { METER_EVERY_MS, METER_FILE, type Reading } from '../load/memory-meter.ts';
import { startCluster } from '../scenes/cluster.ts';
import type { Fault, Stage } from '../scenes/scene.ts';

export type Soaked = {
  readonly seconds: number;
  readonly served: number;
  readonly refused: number;
  readonly paid: number;
  readonly readings: readonly Reading[];
  /** Bytes of the heap after the first fifth of the time, when all code has run once, and at the end. */
  readonly heapBefore: number;
  readonly heapAfter: number;
  readonly lateP99: number;
  readonly lateMost: number;
  /** Errors in the responses or the records. */
  readonly trouble: readonly string[];
};

const READINGS = 30;
const METER = fileURLToPath(new URL('../load/memory-meter.ts', import.meta.url));

const NOTHING: Fault<Stage> = {
  name: 'soak',
  what: 'nothing happens, for long',
  outage: 'busy',
  strike: async (_, ms) => {
    await pause(ms);
  },
};

/** Runs one hub without a fault for this time. */
export async function soak(ms: number): Promise<Soaked> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-soak-'));
  const file = join(folder, 'readings');
  const cluster = await startCluster({
    hubs: 1,
    environment: {
      NODE_OPTIONS: `--import=${METER}`,
      [METER_FILE]: file,
      [METER_EVERY_MS]: String(Math.round(ms / READINGS)),
    },
  });
  try {
    const stage = { cluster, close: async () => {} };
    const { seconds, served, refused, paid, trouble } = await strike(stage, NOTHING, ms);
    const readings = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line): Reading => JSON.parse(line));
    const last = readings.at(-1);
    const fifth = Math.floor(readings.length / 5);
    return {
      seconds,
      served,
      refused,
      paid,
      readings,
      heapBefore: median(readings.slice(fifth, 2 * fifth)),
      heapAfter: median(readings.slice(-fifth)),
      lateP99: last?.lateP99 ?? Number.NaN,
      lateMost: last?.lateMost ?? Number.NaN,
      trouble,
    };
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function median(readings: readonly Reading[]): number {
  const sorted = readings.map(({ heap }) => heap).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
