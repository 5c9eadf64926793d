// `npm run bench -- events`: measures the delivery of events, and what a million undelivered events cost the rest.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from '@connectrpc/connect';
import { parseCount, parseCountOrZero } from '../../../cli/parse/parse-number.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { RetentionService } from '../../../gen/hub/retention/v1/retention_service_pb.ts';
import { createProgram } from '../../support/parse-options.ts';
import { query } from '../../support/postgres/databases.ts';
import { type CaseName, createCases } from '../cases.ts';
import { interruptible } from '../interruptible.ts';
import { measureCase, waitUntilIdle } from '../measure.ts';
import { PLANS, type Plan } from '../measurement-plan.ts';
import { reportPair } from '../report/pair.ts';
import { startChild, startProgram } from '../sides/child.ts';
import { startEnvironment } from '../sides/environment.ts';
import { type HubSide, startHub } from '../sides/hub.ts';
import { postgresCpuSeconds, usageOf } from '../sides/process-cost.ts';
import { APP, makeLicenses } from '../test-data.ts';

const values = createProgram('npm run bench -- events')
  .description('Measures the delivery of events, and the cost of undelivered events for requests.')
  .option('--events <number>', 'events that are delivered at full speed', parseCount, 20_000)
  .option(
    '--paced <number>',
    'events one after another, for the time from change to delivery',
    parseCountOrZero,
    1_000,
  )
  .option('--undelivered <number>', 'undelivered events of one of two hubs', parseCountOrZero, 1_000_000)
  .option('--rounds <number>', 'paired rounds of these hubs', parseCount, 10)
  .parse()
  .opts<Readonly<Record<'events' | 'paced' | 'undelivered' | 'rounds', number>>>();
const CONNECTIONS = 32;
/** Licenses that one call issues. */
const ISSUE = 1_000;
const THIS_MONTH = new Date().toISOString().slice(0, 7);
const CASES: readonly CaseName[] = ['status', 'activate', 'settle'];

await interruptible(async (start) => {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  const sinkLog = join(directory, 'sink.txt');
  const sink = await begin(() =>
    startChild({
      name: 'sink',
      args: [fileURLToPath(new URL('./sink.ts', import.meta.url))],
      env: { SINK_LOG: sinkLog },
      logFile: join(directory, 'sink.log'),
      readyText: 'port',
    }),
  );
  const { port } = JSON.parse(sink.ready);
  const options = {
    directory,
    redisUrl,
    providerUrl: 'http://127.0.0.1:9',
    env: { HUB_EVENT_ALLOW_NETWORKS: '127.0.0.0/8' },
  };
  const hub = await begin(() => startHub(options));
  const events = createClient(EventService, hub.transport);
  const { endpoint } = await events.createEndpoint({
    settings: { url: `http://127.0.0.1:${port}/hook`, events: ['*'] },
  });
  const arrivals = arrivalsIn(sinkLog);
  process.stdout.write(await measureSpeed(hub, sink.pid, arrivals));
  process.stdout.write(await measureDelay(hub, arrivals));
  await events.removeEndpoint({ endpointId: endpoint?.endpointId ?? '' });
  await measureBacklog({ hub, events, port, options, begin });
});

type Arrival = { readonly type: string; readonly changedMs: number; readonly arrivedMs: number };

/** Resolves with all arrivals once there are so many. */
function arrivalsIn(file: string): (count: number) => Promise<Arrival[]> {
  return async (count) => {
    for (;;) {
      const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean);
      if (lines.length >= count) {
        return lines.map((line) => {
          const [type = '', changed, arrived] = line.split(' ');
          return { type, changedMs: Number(changed), arrivedMs: Number(arrived) };
        });
      }
      await setTimeout(50);
    }
  };
}

async function measureSpeed(
  hub: HubSide,
  sinkPid: number,
  arrivals: (count: number) => Promise<Arrival[]>,
): Promise<string> {
  const count = values.events;
  const admin = createClient(LicenseAdminService, hub.transport);
  const cpu = (): number[] => [
    usageOf(hub.pid)?.cpuSeconds ?? 0,
    postgresCpuSeconds() ?? 0,
    usageOf(sinkPid)?.cpuSeconds ?? 0,
  ];
  for (let issued = 0; issued < count; issued += ISSUE) {
    await admin.issueLicenses({ app: APP, count: ISSUE, seatLimit: -1 });
  }
  const [early, before] = [(await arrivals(0)).length, cpu()];
  const begun = performance.now();
  const all = await arrivals(count);
  const seconds = (performance.now() - begun) / 1_000;
  const micros = cpu().map((after, index) => ((after - (before[index] ?? 0)) * 1e6) / (count - early));
  const [ofHub, ofPostgres, ofSink] = micros.map((each) => each.toFixed(0));
  return (
    `${all.length} events delivered; the last ${count - early} at ${((count - early) / seconds).toFixed(0)} a second. ` +
    `CPU µs a delivery: hub ${ofHub}, PostgreSQL ${ofPostgres}, sink ${ofSink}\n`
  );
}

async function measureDelay(hub: HubSide, arrivals: (count: number) => Promise<Arrival[]>): Promise<string> {
  const admin = createClient(LicenseAdminService, hub.transport);
  const before = (await arrivals(0)).length;
  const count = values.paced;
  for (let sent = 0; sent < count; sent++) {
    await admin.issueLicenses({ app: APP, count: 1 });
    await setTimeout(10);
  }
  const delays = (await arrivals(before + count))
    .slice(before)
    .map(({ changedMs, arrivedMs }) => arrivedMs - changedMs)
    .sort((one, other) => one - other);
  const at = (share: number): number => delays[Math.floor(share * (delays.length - 1))] ?? 0;
  return `From the change to its arrival, ${count} events one after another: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`;
}

type Backlog = {
  readonly hub: HubSide;
  readonly events: Client<typeof EventService>;
  /** Of the sink. */
  readonly port: number;
  readonly options: Parameters<typeof startHub>[0];
  readonly begin: Awaited<ReturnType<typeof startEnvironment>>['begin'];
};

/** Compares a hub whose endpoint hangs, with many undelivered events, with a hub without endpoints. */
async function measureBacklog({ hub, events, port, options, begin }: Backlog): Promise<void> {
  const provider = await begin(() =>
    startProgram(options.directory, { name: 'provider', file: '../provider.ts', env: {} }),
  );
  const other = await begin(() =>
    startHub({ ...options, name: 'other', providerUrl: `http://127.0.0.1:${provider.port}` }),
  );
  const { endpoint } = await events.createEndpoint({
    // Not those of the cases, whose deliveries would be measured too.
    settings: { url: `http://127.0.0.1:${port}/hang`, events: ['license.*'] },
  });
  await query(hub.databaseUrl, `update slot set base_url = $1`, [
    `http://127.0.0.1:${provider.port}/gateway_one`,
  ]);
  await addUndelivered(hub.databaseUrl, endpoint?.endpointId ?? '');
  const plan: Plan = {
    ...PLANS.full,
    rounds: values.rounds,
    connections: [CONNECTIONS],
    latencyRounds: 0,
  };
  const licenses = makeLicenses(plan.licenses);
  for (const { database } of [hub, other]) await database.addLicenses(licenses);
  process.stdout.write(
    `With ${values.undelivered} undelivered events and an endpoint that hangs, and without:\n`,
  );
  for (const each of createCases(licenses).filter(({ name }) => CASES.includes(name))) {
    const untilIdle = (): Promise<void> => waitUntilIdle([hub, other], plan.idleTimeoutMs);
    const sides = await measureCase(each, [hub, other], { plan, untilIdle, onStep: () => {} });
    process.stdout.write(reportPair(each, [CONNECTIONS], sides));
  }
  const begun = performance.now();
  const { partitions } = await createClient(RetentionService, hub.transport).pruneMonths({
    before: THIS_MONTH,
  });
  process.stdout.write(
    `Pruned ${partitions.length} partitions with these events in ${(performance.now() - begun).toFixed(0)} ms\n`,
  );
}

/** Events of the month before this one, and their deliveries, which are due. */
async function addUndelivered(databaseUrl: string, endpointId: string): Promise<void> {
  await query(
    databaseUrl,
    `select make_month_partitions(t, array[$1::date - interval '1 month']::date[])
    from unnest(array['event', 'event_data', 'event_delivery']) as t`,
    [`${THIS_MONTH}-01`],
  );
  await query(
    databaseUrl,
    `with floor as (
       select partition_floor(($1::date - interval '1 month')::date) as id
     ), made as (
       insert into event (id, number, type, object_id, at)
       select overlay(floor.id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, -n, 'license.issued',
              gen_random_uuid(), now() - interval '1 month'
       from floor, generate_series(1, $2::int) n returning id
     )
     insert into event_delivery (event_id, endpoint_id, state, next_attempt_at)
     select made.id, e.id, 'pending', now() from made, event_endpoint e where e.removed_at is null`,
    [`${THIS_MONTH}-01`, values.undelivered],
  );
  await query(databaseUrl, 'analyze');
  if (endpointId === '') throw new Error('no endpoint was created');
}
