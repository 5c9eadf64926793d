// Two hubs under mixed load behind PgBouncer in transaction mode. They restart repeatedly, and share a few
// server connections with other clients.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { issueLicense, type TestLicense } from '../../support/hub/license.ts';
import { GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { startPgBouncer } from '../../support/postgres/pgbouncer.ts';
import { until } from '../../support/until.ts';
import { unreconciled } from '../load/payment-fixture.ts';
import { type Cluster, startCluster } from '../scenes/cluster.ts';

export type PoolerRun = { readonly requests: number; readonly restarts: number };

export type PoolerReport = {
  readonly served: number;
  readonly payments: number;
  readonly restarts: number;
  /** The number of times other clients left state in a session. */
  readonly disturbances: number;
  readonly seconds: number;
  /** Wrong responses, failed starts and errors in the records. */
  readonly trouble: readonly string[];
};

const SERVER_CONNECTIONS = 5;
const CUSTOMERS = 12;
const SCHEMA = 'hub';
const REST_MS = 120_000;

export async function runBehindPooler({ requests, restarts }: PoolerRun): Promise<PoolerReport> {
  const start = performance.now();
  await using undo = new AsyncDisposableStack();
  const databaseUrl = await createDatabase();
  const bouncer = await startPgBouncer(databaseUrl, { poolSize: SERVER_CONNECTIONS });
  undo.defer(() => bouncer.stop());
  const books = new URL(databaseUrl);
  books.searchParams.set('options', `-c search_path=${SCHEMA}`);
  const cluster = await startCluster({
    hubs: 2,
    databaseUrl: books.href,
    startAttempts: 1,
    environment: {
      DATABASE_URL: bouncer.url,
      HUB_DATABASE_POOLER: 'transaction',
      HUB_DATABASE_SCHEMA: SCHEMA,
      // The simulator shares the machine but is not under test.
      HUB_PROVIDER_TIMEOUT_MS: '30000',
    },
  });
  undo.defer(() => cluster.stop());
  const stranger = disturb(bouncer.url);
  undo.defer(() => stranger.stop());
  const load = createLoad(cluster, await licenseOf(cluster));
  const [served] = await Promise.all([load.run(requests), restartAll(load, cluster, { requests, restarts })]);
  await stranger.stop();
  await cluster.simulator.idle();
  let trouble: string[] = [];
  const atRest = async (): Promise<boolean> => {
    trouble = [...(await unreconciled(cluster)), ...cluster.deaths];
    return trouble.length === 0;
  };
  await until(atRest, 'all is settled', REST_MS).catch(() => {}); // the report contains the trouble
  const left = await query(books.href, `select from pg_locks where locktype = 'advisory'`);
  return {
    served,
    payments: load.payments(),
    restarts,
    disturbances: stranger.count(),
    seconds: Math.round((performance.now() - start) / 1000),
    trouble: [...load.failures, ...trouble, ...left.map(() => 'an advisory lock is left in a session')],
  };
}

async function licenseOf(cluster: Cluster): Promise<TestLicense> {
  const hub = cluster.hub(0);
  if (hub === undefined) throw new Error('there is no hub');
  return issueLicense(hub.licenses, { seatLimit: 50 });
}

/** Half of the restarts wait for requests in progress, and half do not. */
async function restartAll(load: Load, cluster: Cluster, { requests, restarts }: PoolerRun): Promise<void> {
  for (let count = 0; count < restarts; count++) {
    await until(
      () => load.sent() >= ((count + 1) * requests) / (restarts + 1),
      'the next restart is due',
      30 * 60_000,
    );
    const index = count % 2;
    await load.without(index, () =>
      cluster.replace(index, count % 4 < 2 ? 'SIGTERM' : 'SIGKILL').catch((error) => {
        load.failures.push(`restart ${count}: ${error.message}`);
      }),
    );
  }
}

type Load = ReturnType<typeof createLoad>;

/** Customers who activate, release and check machines, order and pay. */
function createLoad(cluster: Cluster, { licenseKey, licenseId }: TestLicense) {
  const failures: string[] = [];
  const underWay = [0, 0];
  const resting = new Set<number>();
  let sent = 0;
  let payments = 0;

  const post = (path: string, body: object) => (gateway: string) =>
    fetch(`${gateway}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const expectOk = async (gateway: string, ask: (gateway: string) => Promise<Response>): Promise<void> => {
    const response = await ask(gateway);
    const answer = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${answer}`);
  };
  const order = async (index: number, turn: number): Promise<void> => {
    const gateway = GATEWAYS[turn % GATEWAYS.length] ?? 'gateway_one';
    const { session } = (await cluster.hub(index)?.sessions.createChargeSession({
      slot: SLOTS[gateway],
      amount: { minorUnits: BigInt(10_000 + turn), currency: 'BDT' },
      orderReference: `ORD-${turn}`,
      idempotencyKey: randomUUID(),
    })) ?? { session: undefined };
    if (session === undefined) throw new Error('no session');
    cluster.simulator.pay(session.providerPaymentId);
    payments += 1;
  };
  const one = async (turn: number, fingerprint: string): Promise<void> => {
    const index = resting.has(turn % 2) ? (turn + 1) % 2 : turn % 2;
    const gateway = cluster.gateways()[cluster.gateways().length === 1 ? 0 : index] ?? '';
    underWay[index] = (underWay[index] ?? 0) + 1;
    const body = { licenseKey, machineFingerprint: fingerprint };
    try {
      if (turn % 5 === 4) await order(index, turn);
      else if (turn % 5 === 3) await expectOk(gateway, post('/v1/deactivate', body));
      else if (turn % 5 === 2) await expectOk(gateway, (url) => fetch(`${url}/v1/status/${licenseId}`));
      else await expectOk(gateway, post('/v1/activate', body));
    } catch (error) {
      failures.push(`request ${turn}: ${error instanceof Error ? error.message : error}`);
    } finally {
      underWay[index] = (underWay[index] ?? 0) - 1;
    }
  };
  return {
    failures,
    sent: () => sent,
    payments: () => payments,
    async run(requests: number): Promise<number> {
      const customer = async (): Promise<void> => {
        const fingerprint = `machine-${randomBytes(6).toString('hex')}`;
        // A machine is activated before it is released: each customer repeats all five steps in order.
        for (let step = 0; sent < requests; step++) {
          sent += 1;
          await one(step, fingerprint);
        }
      };
      await Promise.all(Array.from({ length: CUSTOMERS }, customer));
      return sent;
    },
    /** Sends no requests to this hub while `work` restarts it, like a load balancer. */
    async without(index: number, work: () => Promise<void>): Promise<void> {
      resting.add(index);
      await until(() => underWay[index] === 0, `hub ${index} has answered everything`, 60_000);
      await work();
      resting.delete(index);
    },
  };
}

/** Session state that other clients of the same pool leave behind. */
const LEFT_BEHIND = [
  'set search_path to nowhere',
  'set statement_timeout = 1000',
  'set lock_timeout = 1',
  'set idle_in_transaction_session_timeout = 1',
];

function disturb(url: string) {
  const stopping = { now: false };
  let count = 0;
  const going = (async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {}); // the current statement reports it
    await client.connect();
    while (!stopping.now) {
      await client.query(LEFT_BEHIND[count % LEFT_BEHIND.length] ?? '').catch(() => {});
      await client.query(`prepare statement_${count} as select 1`).catch(() => {});
      count += 1;
      await pause(20);
    }
    await client.end().catch(() => {});
  })();
  return {
    count: () => count,
    async stop() {
      stopping.now = true;
      await going;
    },
  };
}
