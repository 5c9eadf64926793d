// A hub with several processes: what they share, and the effect of a crash.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { poolSizeWarning, readConnectionLimit } from '../../../cli/serve/check-pool-size.ts';
import { type PostgresServer, startServer } from '../../faults/scenes/postgres-server.ts';
import { discard, localToken, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { growth, type Scrape, scrape } from '../../support/hub/metrics.ts';
import {
  callBack,
  callbackFields,
  createSession,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  untilStatus,
} from '../../support/hub/payment.ts';
import { activate } from '../../support/network/rest.ts';
import { beginRequest } from '../../support/network/slow-request.ts';
import {
  asSuperuser,
  createDatabase,
  createMigratedDatabase,
  query,
} from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { hubctl } from '../spawn-hubctl.ts';

/** Lines of the log with this message, of one worker or of all. */
function logged(hub: HubProcess, message: string, worker?: number) {
  const entries = hub.lines.map((line) => JSON.parse(line));
  return entries.filter(
    (entry) => entry.msg === message && (worker === undefined || entry.worker === worker),
  );
}

/** The process that is this worker now. */
const pidOf = (hub: HubProcess, worker: number): number => logged(hub, 'worker starts', worker).at(-1)?.pid;

const refused = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => false,
    () => true,
  );

describe('a hub with several workers', function () {
  this.timeout(240_000); // it starts many processes
  let dataDir: string;
  let payments: Payments;
  let hub: HubProcess;
  before(async () => {
    dataDir = await makeDataDir();
    const databaseUrl = await createDatabase();
    hub = await spawnHub({
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      HUB_WORKERS: '3',
      // Shortens the lease of a verification, which the test waits for.
      HUB_PROVIDER_TIMEOUT_MS: '2000',
    });
    // A second hub for the simulator and the clients; it receives no callbacks. Its schedule is the same:
    // with a later check than its own, the hub would recall it and verify sessions during their creation.
    const sweepAfterMs = [120_000, 600_000, 3_600_000];
    const masterKeyFile = `${dataDir}/master.key`;
    payments = await startPayments({ settings: { databaseUrl, masterKeyFile, sweepAfterMs } });
  });
  after(async () => {
    await payments?.stop();
    await hub?.stop();
    await discard(dataDir);
  });

  it('serves one pair of ports, and logs which worker did what', async () => {
    const { licenseKey } = await issueLicense(payments.hub.admin, { seatLimit: 2 });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => activate(hub.gatewayUrl, licenseKey, `machine-${index}`)),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, ...Array(10).fill(409)]);
    const served = () => new Set(logged(hub, 'request').map(({ worker }) => worker));
    await until(() => served().size === 3, 'each of three workers has served a request');
    expect([...served()].sort()).to.deep.equal([1, 2, 3]);
    const { rpc, gateway, workers } = logged(hub, 'hub is ready')[0] ?? {};
    expect({ rpc, gateway, workers }).to.deep.equal({ rpc: hub.rpcUrl, gateway: hub.gatewayUrl, workers: 3 });
  });

  it('prepares the database once, and is found by hubctl under its main process', async () => {
    const token = await hubctl(['app', 'list', '--output', 'json'], { HUB_DATA_DIR: dataDir });
    expect({ code: token.code, stderr: token.stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(logged(hub, 'schema migrated').map(({ worker }) => worker)).to.deep.equal([1]);
    expect(logged(hub, 'created partitions').map(({ worker }) => worker)).to.deep.equal([1]);
    const tokens = await query(
      payments.hub.databaseUrl,
      `select from service_token where name = 'local admin'`,
    );
    // Its own, and that of the hub beside it.
    expect(tokens).to.have.length(2);
  });

  const read = async (): Promise<Scrape> => scrape({ rpcUrl: hub.rpcUrl, token: await localToken(dataDir) });

  it('returns the metrics of all workers from any of them', async () => {
    const before = await read();
    const headers = { connection: 'close' }; // each by another worker
    await Promise.all(Array.from({ length: 24 }, () => fetch(`${hub.gatewayUrl}/healthz`, { headers })));
    const told = await Promise.all(Array.from({ length: 6 }, read));
    const route = { route: '/healthz', status: '200' };
    for (const { sum } of told) {
      expect(sum('hub_http_requests_total', route) - before.sum('hub_http_requests_total', route)).to.equal(
        24,
      );
      expect(sum('hub_workers', { state: 'answering' })).to.equal(3);
      expect(sum('hub_pg_pool_limit')).to.equal(30);
      expect(sum('hub_licenses')).to.equal(1);
    }
  });

  it('loses nothing when a worker is killed, and starts another', async () => {
    const before = await read();
    const sessions = await Promise.all(
      Array.from({ length: 40 }, () => createSession(payments, 'gateway_one')),
    );
    let answered = 0;
    // A provider repeats a callback that got no answer.
    const callUntilAnswered = async (fields: Record<string, string>): Promise<number> => {
      for (;;) {
        const answer = await callBack(hub.gatewayUrl, 'gateway_one', fields).catch(() => undefined);
        if (answer === undefined) continue;
        answered += 1;
        if (answered === 10) process.kill(pidOf(hub, 2), 'SIGKILL');
        return answer.status;
      }
    };
    const statuses = await Promise.all(
      sessions.map((session) =>
        callUntilAnswered(callbackFields(session, 'paid', payQuietly(payments, session))),
      ),
    );
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    // Another worker takes over the verification when the lease of the dead one ends.
    for (const session of sessions) await untilStatus(payments, session, 'success', 90_000);
    const isOver = async () => (await journal(payments)).every(({ state }) => state !== 'received');
    await until(isOver, 'all callbacks are dealt with', 90_000);
    expect(new Set((await journal(payments)).map(({ sessionId }) => sessionId)).size).to.equal(
      sessions.length,
    );
    expect(await query(payments.hub.databaseUrl, 'select from usage_log')).to.have.length(sessions.length);
    await until(() => logged(hub, 'worker is ready', 2).length === 2, 'another worker 2 is ready', 60_000);
    expect(logged(hub, 'a worker died')).to.have.length(1);
    expect(logged(hub, 'a worker died')[0]).to.include({ worker: 2, reason: 'killed by SIGKILL' });
    // To Prometheus a sum that falls would be a restart of all of them.
    const after = await read();
    const counters = (key: string) => /^\w+(_total|_bucket|_sum|_count)\{/.test(key);
    const fallen = [...growth(before, after)].filter(([key, by]) => counters(key) && by < 0);
    expect(fallen).to.deep.equal([]);
    expect(after.sum('hub_worker_deaths_total')).to.equal(1);
    expect(after.sum('hub_workers', { state: 'serving' })).to.equal(3);
  });

  it('finishes current requests on SIGTERM, accepts no new ones, and exits with 0', async () => {
    const slow = await beginRequest(hub.gatewayUrl);
    const exited = once(hub.child, 'exit');
    hub.child.kill('SIGTERM');
    await until(() => refused(hub.gatewayUrl), 'new connections are refused');
    expect(await slow.finish())
      .to.match(/^HTTP\/1\.1 404 /)
      .and.contain('license_key_unknown');
    expect(await exited).to.deep.equal([0, null]);
    expect(logged(hub, 'worker has stopped')).to.have.length(3);
    expect(logged(hub, 'a worker died')).to.have.length(1);
    const lost = await hubctl(['app', 'list'], { HUB_DATA_DIR: dataDir });
    expect(lost.code, 'exit code of hubctl when no hub is announced').to.equal(3);
  });
});

describe('workers on the embedded PostgreSQL', function () {
  this.timeout(240_000); // it makes a cluster and starts many processes
  let dataDir: string;
  let hub: HubProcess;
  before(async () => {
    dataDir = await makeDataDir();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, HUB_WORKERS: '2' });
  });
  after(async () => {
    await hub?.stop();
    await discard(dataDir);
  });

  it('are replaced one at a time by SIGTERM to a worker', async () => {
    process.kill(pidOf(hub, 2), 'SIGTERM');
    await until(() => logged(hub, 'worker is ready', 2).length === 2, 'another worker 2 is ready', 60_000);
    expect(logged(hub, 'a worker was stopped: starting another')[0]).to.include({ worker: 2, level: 30 });
    expect(logged(hub, 'a worker died')).to.deep.equal([]);
    const { sum } = await scrape({ rpcUrl: hub.rpcUrl, token: await localToken(dataDir) });
    expect(sum('hub_worker_deaths_total')).to.equal(0);
  });

  it('end with their PostgreSQL when one of them dies repeatedly', async () => {
    const exited = once(hub.child, 'exit');
    for (let death = 1; death <= 5; death++) {
      await until(() => logged(hub, 'worker starts', 1).length === death, `worker 1 starts, time ${death}`);
      expect(await postgresRuns(dataDir)).to.equal(true);
      process.kill(pidOf(hub, 1), 'SIGKILL');
    }
    expect(await exited).to.deep.equal([1, null]);
    expect(hub.complaints()).to.equal('hubctl: worker 1 died 5 times within a minute: killed by SIGKILL\n');
    expect(await postgresRuns(dataDir)).to.equal(false);
  });
});

describe('workers during an outage of PostgreSQL', function () {
  this.timeout(400_000); // it makes a cluster and starts many processes
  let dataDir: string;
  let server: PostgresServer;
  let hub: HubProcess;
  before(async () => {
    dataDir = await makeDataDir();
    server = await startServer();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: server.url, HUB_WORKERS: '2' });
  });
  after(async () => {
    await hub?.stop();
    await server?.discard();
    await discard(dataDir);
  });

  it('survive it, also if one of them dies and cannot start', async () => {
    await server.stop();
    process.kill(pidOf(hub, 2), 'SIGKILL');
    const hasFailedOften = (): boolean => {
      expect(hub.child.exitCode, hub.complaints()).to.equal(null);
      return logged(hub, 'a worker died', 2).length > 6;
    };
    await until(hasFailedOften, 'worker 2 has failed to start six times', 200_000);
    await server.start();
    await until(() => logged(hub, 'worker is ready', 2).length === 2, 'another worker 2 is ready', 60_000);
    expect(logged(hub, 'worker starts', 1)).to.have.length(1);
    const { sum } = await scrape({ rpcUrl: hub.rpcUrl, token: await localToken(dataDir) });
    expect(sum('hub_workers', { state: 'answering' })).to.equal(2);
  });
});

describe('a worker that starts while the hub drains', () => {
  let dataDir: string;
  let hub: HubProcess;
  before(async () => {
    dataDir = await makeDataDir();
    const DATABASE_URL = await createMigratedDatabase();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL, HUB_WORKERS: '2', HUB_DRAIN_SECONDS: '60' });
  });
  after(async () => {
    await hub?.stop(); // the second signal ends the hub at once
    await discard(dataDir);
  });

  it('is not ready', async () => {
    process.kill(pidOf(hub, 2), 'SIGKILL');
    await until(() => logged(hub, 'worker starts', 2).length === 2, 'another worker 2 starts', 60_000);
    hub.child.kill('SIGTERM');
    const another = pidOf(hub, 2);
    const isReady = () => logged(hub, 'worker is ready').some(({ pid }) => pid === another);
    await until(isReady, 'another worker 2 has started', 60_000);
    const ask = async (): Promise<number> => (await fetch(`${hub.gatewayUrl}/readyz`)).status;
    const states = (): Promise<number[]> => Promise.all(Array.from({ length: 8 }, ask));
    const unready = Array(8).fill(503);
    await until(async () => `${await states()}` === `${unready}`, 'no worker is ready');
    await setTimeout(1_000); // later than the message of the main process
    expect(await states()).to.deep.equal(unready);
  });
});

describe('workers that cannot start', () => {
  it('report the reason once, like a single process', async () => {
    const dataDir = await makeDataDir();
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createMigratedDatabase() });
    const { port } = new URL(hub.rpcUrl);
    const second = await hubctl(['serve', '--workers', '2', '--port', '0', '--rpc-port', port], {
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: await createMigratedDatabase(),
    });
    await hub.stop();
    await discard(dataDir);
    expect({ code: second.code, stderr: second.stderr }).to.deep.equal({
      code: 1,
      stderr: `hubctl: cannot listen on 127.0.0.1:${port}: the port is in use: stop the program that uses it, or choose another with --rpc-port or HUB_RPC_PORT (0 takes any free port)\n`,
    });
  });
});

describe('workers with more connections than PostgreSQL allows', () => {
  it('cause a warning that names the settings', async () => {
    const dataDir = await makeDataDir();
    const hub = await spawnHub({
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: await createMigratedDatabase(),
      HUB_WORKERS: '2',
      HUB_DATABASE_POOL: '300',
    });
    await hub.stop();
    await discard(dataDir);
    const warnings = hub.lines.map((line) => JSON.parse(line)).filter(({ by }) => by !== undefined);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include({ level: 40, workers: 2, databasePool: 300, by: 'max_connections' });
    expect(warnings[0].msg)
      .to.contain('can open 602 connections')
      .and.contain('HUB_DATABASE_POOL')
      .and.contain('HUB_WORKERS');
  });

  it('are limited by the role or the database if that is less', async () => {
    const databaseUrl = await createDatabase();
    const { pathname, username: role } = new URL(databaseUrl);
    const database = pathname.slice(1);
    await query(asSuperuser(databaseUrl), `alter role ${role} connection limit 30`);
    const byRole = await readConnectionLimit(databaseUrl);
    expect(byRole).to.deep.equal({ allowed: 30, by: 'the connection limit of the role' });
    await query(databaseUrl, `alter database ${database} connection limit 21`);
    const byDatabase = await readConnectionLimit(databaseUrl);
    expect(byDatabase).to.deep.equal({ allowed: 21, by: 'the connection limit of the database' });
    expect(poolSizeWarning({ workers: 3, databasePool: 6 }, byDatabase)).to.equal(undefined);
    expect(poolSizeWarning({ workers: 3, databasePool: 7 }, byDatabase)).to.contain('24 connections');
    expect(poolSizeWarning({ workers: 1, databasePool: 21 }, byDatabase))
      .to.contain('22 connections')
      .and.not.to.contain('HUB_WORKERS');
  });
});
