// Measures hubs on prepared databases of different sizes: throughput, latency, sizes, plans and pruning time.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { RetentionService } from '../../../gen/hub/retention/v1/retention_service_pb.ts';
import { localToken } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import type { EmbeddedServer } from '../../support/postgres/databases.ts';
import type { Start } from '../interruptible.ts';
import { type Busy, describeMachine } from '../machine.ts';
import type { Machine } from '../report/results.ts';
import { type Child, startChild, startProgram } from '../sides/child.ts';
import { RATE_PER_MINUTE } from '../sides/hub.ts';
import { type Backfill, measureBackfill } from './backfill.ts';
import { type Candidate, type Figures, measureScale } from './measure-scale.ts';
import { observe, type Statement } from './observe.ts';
import type { Population } from './population.ts';
import { PREWARMED, prewarm, requireSpace } from './prewarm.ts';
import { TARGETS } from './requests.ts';
import { addSlotAndOffer } from './settlements.ts';
import { type Size, sizesOf } from './sizes.ts';
import { watchLocks } from './watch-locks.ts';

export type PreparedDatabase = {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly population: Population;
};

export type ScaleResults = {
  readonly at: string;
  readonly machine: Machine;
  readonly cached: boolean;
  /** The settings of PostgreSQL in each further measurement. Empty: there was none. */
  readonly settings: readonly (readonly string[])[];
  /** The tables that were loaded into `shared_buffers` before each further measurement. */
  readonly prewarmed: readonly string[];
  readonly databases: readonly DatabaseResults[];
  /** The plans on the largest database. */
  readonly plansOf: { readonly licenses: number; readonly statements: readonly Statement[] };
};

export type DatabaseResults = {
  readonly population: Population;
  readonly figures: readonly Figures[];
  readonly sizes: readonly Size[];
  /** Pruning of the oldest month: the total time, and the time that other clients wait for a table lock. */
  readonly prune: {
    readonly bytes: number;
    readonly partitions: number;
    readonly ms: number;
    readonly lockedMs: number;
  };
  readonly backfill: Backfill;
  /** Requests that are spread over all licenses, with each of the other settings of PostgreSQL. */
  readonly figuresWithSettings: readonly (readonly Figures[])[];
};

export type RunOptions = {
  readonly prepared: readonly PreparedDatabase[];
  readonly redisUrl: string;
  /** Before the databases were filled. */
  readonly busy: Busy;
  readonly rounds: number;
  readonly postgres: Pick<EmbeddedServer, 'restart'>;
  /** Settings of PostgreSQL for each further measurement, such as `shared_buffers=6GB`. */
  readonly settings: readonly (readonly string[])[];
  /** Whether to load the tables of the requests into the `shared_buffers` of each of these settings. */
  readonly loadsTables: boolean;
  /** Whether to read the tables of the requests before each measurement. */
  readonly cached: boolean;
  readonly say: (line: string) => void;
};

export async function runScale(
  { prepared, redisUrl, busy, rounds, postgres, settings, loadsTables, cached, say }: RunOptions,
  start: Start,
): Promise<ScaleResults> {
  const [first] = prepared;
  const largest = prepared.at(-1);
  if (first === undefined || largest === undefined) throw new Error('there is no database to measure');
  const machine = await describeMachine(first.databaseUrl, busy);
  const directory = await start(
    () => mkdtemp(join(tmpdir(), 'hub-scale-')),
    (path) => rm(path, { recursive: true }),
  );
  const startHubs = async (): Promise<Hub[]> => {
    const started: Hub[] = [];
    for (const [index, database] of prepared.entries()) {
      const logFile = join(directory, `${index}.log`);
      started.push(
        await start(
          () => startHub(database, redisUrl, logFile),
          (hub) => hub.stop(),
        ),
      );
    }
    return started;
  };
  const urls = prepared.map(({ databaseUrl }) => databaseUrl);
  // Fails here, not after the first measurement.
  if (loadsTables) for (const each of settings) await requireSpace(urls, sharedBuffersOf(each) ?? '');
  let hubs = await startHubs();
  const provider = await start(
    () => startProgram(directory, { name: 'provider', file: '../provider.ts', env: {} }),
    (started) => started.stop(),
  );
  for (const [index, { dataDir }] of prepared.entries()) {
    await addSlotAndOffer(hubs[index]?.rpc ?? '', dataDir, `http://127.0.0.1:${provider.port}`);
  }
  const sizes = await Promise.all(urls.map(sizesOf)); // the measurement adds sessions, orders and licenses
  const figures = await measureScale(hubs, { targets: TARGETS, rounds, firstTurn: 0, cached, say });
  const restart = async (replaced: readonly string[]): Promise<void> => {
    for (const hub of hubs) await hub.stop();
    await postgres.restart(replaced);
    hubs = await startHubs();
  };
  /** By settings, then by database. */
  const figuresWithSettings: Figures[][][] = [];
  for (const [index, each] of settings.entries()) {
    await restart(each);
    say(`with ${each.join(', ')}`);
    if (loadsTables) say(`${await prewarm(urls)} loaded into shared_buffers`);
    // Other licenses and sessions in each measurement.
    const firstTurn = (index + 1) * (rounds + 1);
    figuresWithSettings.push(
      await measureScale(hubs, { targets: ['spread'], rounds, firstTurn, cached, say }),
    );
  }
  if (settings.length > 0) await restart([]);
  const plansOf = { licenses: largest.population.licenses, statements: await observe(largest) };
  const databases: DatabaseResults[] = [];
  for (const [index, database] of prepared.entries()) {
    const prune = await pruneOldest(database, hubs[index]?.rpc ?? '');
    say(
      `${database.population.licenses}: ${prune.partitions} partitions pruned in ${prune.ms.toFixed(0)} ms`,
    );
    const backfill = await measureBackfill(database.databaseUrl);
    say(`${database.population.licenses}: ${JSON.stringify({ backfill })}`);
    const measured = figures[index];
    if (measured === undefined) continue;
    databases.push({
      population: database.population,
      figures: measured,
      sizes: sizes[index] ?? [],
      prune,
      backfill,
      figuresWithSettings: figuresWithSettings.map((byDatabase) => byDatabase[index] ?? []),
    });
  }
  return {
    at: new Date().toISOString(),
    machine,
    cached,
    settings,
    prewarmed: loadsTables ? PREWARMED : [],
    databases,
    plansOf,
  };
}

/** Returns undefined if the settings do not contain it. */
export function sharedBuffersOf(settings: readonly string[]): string | undefined {
  const name = 'shared_buffers=';
  return settings.find((each) => each.startsWith(name))?.slice(name.length);
}

/** `rpc` is the URL of its RPC port. */
type Hub = Candidate & Pick<Child, 'stop'> & { readonly rpc: string };

async function startHub(
  { databaseUrl, dataDir, population }: PreparedDatabase,
  redisUrl: string,
  logFile: string,
): Promise<Hub> {
  const { pid, ready, stop } = await startChild({
    name: 'the hub',
    args: [HUBCTL, 'serve', '--port', '0', '--rpc-port', '0', '--data-dir', dataDir],
    env: {
      DATABASE_URL: databaseUrl,
      ...(redisUrl !== '' && { REDIS_URL: redisUrl }),
      HUB_LICENSE_RATE_PER_MINUTE: String(RATE_PER_MINUTE),
      // The same sessions get many callbacks.
      HUB_SESSION_CALLBACKS: '1000',
      // It also delivers the events of the hub whose statements are observed.
      HUB_EVENT_ALLOW_NETWORKS: '127.0.0.0/8',
    },
    logFile,
    readyText: 'hub is ready',
  });
  const { gateway, rpc } = JSON.parse(ready);
  return { databaseUrl, population, pid, port: Number(new URL(gateway).port), rpc, stop };
}

/** Does the same as `hubctl retention prune`. */
async function pruneOldest(
  { databaseUrl, dataDir, population }: PreparedDatabase,
  rpc: string,
): Promise<DatabaseResults['prune']> {
  const token = await localToken(dataDir);
  const retention = createClient(RetentionService, transportTo(rpc, token));
  const from = new Date(population.from);
  const next = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1));
  const locks = await watchLocks(databaseUrl);
  const begun = performance.now();
  const { partitions } = await retention.pruneMonths({ before: next.toISOString().slice(0, 7) });
  const ms = performance.now() - begun;
  const lockedMs = await locks.stop();
  const bytes = partitions.reduce((sum, partition) => sum + Number(partition.bytes), 0);
  return { bytes, partitions: partitions.length, ms, lockedMs };
}
