// `npm run bench -- workers`: measures throughput by number of workers and by number of hubs on one database,
// and who uses the processors.

import { readFileSync } from 'node:fs';
import { createClient } from '@connectrpc/connect';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { createProgram } from '../../support/parse-options.ts';
import { createDatabase, query, startFlushingPostgres } from '../../support/postgres/databases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { closedLoop } from '../load/closed-loop.ts';
import { median } from '../median.ts';
import { childrenOf, postgresCpuSeconds, usageOf } from '../sides/process-cost.ts';
import { warmUp } from '../warm-up.ts';
import { type SampledSessions, sampleSessions } from './sample-sessions.ts';

createProgram('npm run bench -- workers')
  .description('Measures throughput by number of workers, and of hubs on one database.')
  .parse();

/** The configurations: several processes of one hub, or several hubs with one process each. */
const SETUPS = [
  { name: '1 worker', hubs: 1, workers: 1 },
  { name: '2 workers', hubs: 1, workers: 2 },
  { name: '3 workers', hubs: 1, workers: 3 },
  { name: '2 hubs', hubs: 2, workers: 1 },
];
const ROUNDS = 3;
const SECONDS = 2;
const SAMPLED_SECONDS = 4;
const CONNECTIONS = 32;
const WARM_UP = { windowSeconds: 1, windowsAtMost: 6 };

type Load = { readonly name: string; readonly request: () => string };
type Sample = {
  readonly perSecond: number;
  readonly hub: number;
  readonly postgres: number;
  readonly client: number;
  /** Peak resident memory of the largest process of the hubs. */
  readonly largestMiB: number;
  /** In another window, because sampling takes CPU time. */
  readonly sessions: SampledSessions['byWaitEvent'];
  /** Measured in the same window. The requests of a batch share a transaction. */
  readonly requestsPerTransaction: number;
};

const samples = new Map<string, Sample[]>();
await interruptible(async (start) => {
  await start(startFlushingPostgres, (stop) => stop());
  for (let round = 0; round < ROUNDS; round++) {
    for (const setup of SETUPS) await measure(setup, start);
  }
});
process.stdout.write(table());

async function measure({ name, hubs: count, workers }: (typeof SETUPS)[number], start: Start): Promise<void> {
  const dataDir = await start(makeDataDir, discard);
  const databaseUrl = await createDatabase();
  const settings = {
    HUB_DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    HUB_WORKERS: String(workers),
    HUB_FAILED_ATTEMPTS_PER_MINUTE: '0',
  };
  const hubs: HubProcess[] = [];
  for (let index = 0; index < count; index++) {
    hubs.push(
      await start(
        () => spawnHub(settings),
        (hub) => hub.stop().then(() => {}),
      ),
    );
  }
  const [first] = hubs;
  const token = readFileSync(`${dataDir}/admin-token`, 'utf8').trim();
  for (const load of await prepare(transportTo(first?.rpcUrl ?? '', token))) {
    const drive = async (seconds: number): Promise<number> => {
      const results = await Promise.all(
        hubs.map((hub) =>
          closedLoop({
            port: Number(new URL(hub.gatewayUrl).port),
            connections: CONNECTIONS / hubs.length,
            seconds,
            next: load.request,
          }),
        ),
      );
      return results.reduce((sum, { perSecond }) => sum + perSecond, 0);
    };
    await warmUp(WARM_UP, drive);
    // Otherwise autovacuum would run during some measurements. ANALYZE invalidates plans, so the hubs are warmed up again.
    await query(databaseUrl, 'vacuum analyze');
    await drive(WARM_UP.windowSeconds);
    const before = processors(hubs);
    const begun = performance.now();
    const perSecond = await drive(SECONDS);
    const elapsed = (performance.now() - begun) / 1_000;
    const after = processors(hubs);
    const sampled = await sampleSessions(databaseUrl, () => drive(SAMPLED_SECONDS));
    const key = `${load.name} | ${name}`;
    samples.set(key, [
      ...(samples.get(key) ?? []),
      {
        perSecond,
        hub: (after.hub - before.hub) / elapsed,
        postgres: (after.postgres - before.postgres) / elapsed,
        client: (after.client - before.client) / elapsed,
        largestMiB: after.largestMiB,
        sessions: sampled.byWaitEvent,
        requestsPerTransaction: sampled.result / sampled.transactionsPerSecond,
      },
    ]);
  }
  for (const hub of hubs) await hub.stop();
}

/** A soft check, activations of machines that have their seat, and activations that take new seats. */
async function prepare(transport: ReturnType<typeof transportTo>): Promise<Load[]> {
  const admin = createClient(LicenseAdminService, transport);
  await admin.createApp({ slug: 'bench' });
  const { licenses } = await admin.issueLicenses({ app: 'bench', seatLimit: -1, count: 1_000 });
  let turn = 0;
  const next = () => licenses[turn++ % licenses.length];
  const activate = (machineFingerprint: string): string => {
    const body = JSON.stringify({ licenseKey: next()?.licenseKey, machineFingerprint });
    return `POST /v1/activate HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  return [
    {
      name: 'soft check',
      request: () => `GET /v1/status/${next()?.license?.licenseId} HTTP/1.1\r\nHost: hub\r\n\r\n`,
    },
    { name: 'activation, same seat', request: () => activate('machine') },
    { name: 'activation, new seat', request: () => activate(`machine-${turn}`) },
  ];
}

/** CPU seconds so far of the hubs with their workers, of this PostgreSQL's processes, and of this program; and memory. */
function processors(hubs: readonly HubProcess[]): Pick<Sample, 'hub' | 'postgres' | 'client' | 'largestMiB'> {
  const seconds = (pid: number): number => usageOf(pid)?.cpuSeconds ?? 0;
  const sum = { hub: 0, postgres: postgresCpuSeconds() ?? 0, client: seconds(process.pid), largestMiB: 0 };
  for (const pid of hubs.flatMap(({ child: { pid = 0 } }) => [pid, ...childrenOf(pid)])) {
    sum.hub += seconds(pid);
    sum.largestMiB = Math.max(sum.largestMiB, usageOf(pid)?.peakMiB ?? 0);
  }
  return sum;
}

function table(): string {
  const lines = [...samples].map(([key, all]) => {
    const figures = [
      median(all.map(({ perSecond }) => perSecond)).toFixed(0),
      ...(['hub', 'postgres', 'client'] as const).map((who) => median(all.map((one) => one[who])).toFixed(2)),
      median(all.map(({ largestMiB }) => largestMiB)).toFixed(0),
      median(all.map(({ requestsPerTransaction }) => requestsPerTransaction)).toFixed(1),
      sessionsOf(all),
    ];
    return `| ${[key, ...figures].join(' | ')} |`;
  });
  const head =
    '| request | processes | requests per second | CPU of the hub | CPU of PostgreSQL | CPU of the client | largest process, MiB | requests per transaction | sessions of PostgreSQL by wait event |\n|---|---|---|---|---|---|---|---|---|';
  return `${[head, ...lines.toSorted()].join('\n')}\n`;
}

/** The most frequent wait events, with the average number of sessions. */
function sessionsOf(all: readonly Sample[]): string {
  const events = new Set(all.flatMap(({ sessions }) => [...sessions.keys()]));
  return [...events]
    .map((event) => ({
      event,
      count: median(all.map(({ sessions }) => sessions.get(event) ?? 0)),
    }))
    .filter(({ count }) => count >= 0.05)
    .toSorted((one, other) => other.count - one.count)
    .map(({ event, count }) => `${event} ${count.toFixed(2)}`)
    .join(', ');
}
