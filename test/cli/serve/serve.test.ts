// hubctl serve: start, files for hubctl, stop, and what survives a crash.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { canEnter, unprivilegedAccount } from '../../../core/storage/embedded-postgres/account.ts';
import { runningServer } from '../../../core/storage/embedded-postgres/lock-file.ts';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { processPlace, processStart } from '../../../lib/process-place.ts';
import { discard, localToken, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { HUBCTL, type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { activate, checkStatus } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { hubctl } from '../spawn-hubctl.ts';

/** The administration of a hub, with the token it left in its data directory. */
async function adminOf(hub: HubProcess, dataDir: string): Promise<Client<typeof LicenseAdminService>> {
  const token = await localToken(dataDir);
  return createClient(LicenseAdminService, transportTo(hub.rpcUrl, token));
}

describe('hubctl serve with its own PostgreSQL', () => {
  let dataDir: string;
  let hub: HubProcess;
  let license: { licenseId: string; licenseKey: string };
  before(async () => {
    dataDir = await makeDataDir();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir });
    license = await issueLicense(await adminOf(hub, dataDir), { seatLimit: 1 });
  });
  after(async () => {
    await hub?.stop();
    await discard(dataDir);
  });

  it('logs its addresses, and writes them to hub.json', async () => {
    const ready = hub.lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'hub is ready');
    expect(ready.time).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
    const file = join(dataDir, 'hub.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({
      pid: hub.child.pid,
      place: processPlace(),
      started: processStart(hub.child.pid ?? 0),
      rpc: ready.rpc,
      gateway: ready.gateway,
    });
    expect((await fetch(`${ready.gateway}/readyz`)).status).to.equal(200);
    const { code, stdout } = await hubctl(['license', 'list', '--data-dir', dataDir]);
    expect(code).to.equal(0);
    expect(stdout).to.contain(license.licenseId);
  });

  it('makes its files readable by its user only', async () => {
    // Follows the first calls, a moment later.
    await until(async () => (await readdir(dataDir)).includes('audit-head'), 'the head is recorded');
    for (const name of await readdir(dataDir)) {
      const { mode } = await stat(join(dataDir, name));
      expect(mode & (name === 'postgres' ? 0o066 : 0o077), name).to.equal(0);
    }
    expect(await readdir(dataDir)).to.have.members([
      'admin-token',
      'audit-head',
      'hub.json',
      'master.key',
      'postgres',
    ]);
  });

  it('refuses a second hub on its data directory, which does not disturb the first', async () => {
    const second = await hubctl(['serve', '--port', '0', '--rpc-port', '0', '--data-dir', dataDir]);
    expect(second.code).to.equal(1);
    expect(second.stderr).to.equal(
      `hubctl: another hub runs on the data directory ${dataDir}: stop it, or choose another with --data-dir\n`,
    );
    expect((await activate(hub.gatewayUrl, license.licenseKey, 'machine-1')).status).to.equal(200);
    expect(JSON.parse(await readFile(join(dataDir, 'hub.json'), 'utf8')).pid).to.equal(hub.child.pid);
  });

  it('finds its PostgreSQL and all data after it was killed', async () => {
    const exited = once(hub.child, 'exit');
    hub.child.kill('SIGKILL');
    await exited;
    expect(await postgresRuns(dataDir)).to.equal(true);
    hub = await spawnHub({ HUB_DATA_DIR: dataDir });
    expect(hub.lines.join()).to.contain('was already running');
    const { status, body } = await checkStatus(hub.gatewayUrl, license.licenseId, 'machine-1');
    expect(status).to.equal(200);
    expect(body.seats).to.deep.equal({ limit: 1, used: 1 });
    expect((await activate(hub.gatewayUrl, license.licenseKey, 'machine-2')).status).to.equal(409);
  });

  it('leaves no PostgreSQL and no hub.json when it stops or cannot start', async () => {
    expect(await hub.stop()).to.equal(0);
    expect(await postgresRuns(dataDir)).to.equal(false);
    expect(existsSync(join(dataDir, 'hub.json'))).to.equal(false);

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number }; // it listens on TCP
    const { code, stderr } = await hubctl([
      ...['serve', '--rpc-port', '0', '--data-dir', dataDir, '--port', `${port}`],
    ]);
    taken.close();
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: `hubctl: cannot listen on 127.0.0.1:${port}: the port is in use: stop the program that uses it, or choose another with --port or HUB_PORT (0 takes any free port)\n`,
    });
    expect(await postgresRuns(dataDir)).to.equal(false);
    expect(existsSync(join(dataDir, 'hub.json'))).to.equal(false);
  });

  it('keeps its data and its token over a restart', async () => {
    const token = await readFile(join(dataDir, 'admin-token'), 'utf8');
    hub = await spawnHub({ HUB_DATA_DIR: dataDir });
    const { status } = await checkStatus(hub.gatewayUrl, license.licenseId, 'machine-1');
    expect(status).to.equal(200);
    expect(await readFile(join(dataDir, 'admin-token'), 'utf8')).to.equal(token);
  });

  it('starts PostgreSQL with enough connections for its pool', async () => {
    await hub.stop();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, HUB_DATABASE_POOL: '150' });
    const server = await runningServer(join(dataDir, 'postgres/data'));
    const password = await readFile(join(dataDir, 'postgres/password'), 'utf8');
    const rows = await query(
      `postgres://hub:${password}@127.0.0.1:${server?.port}/hub`,
      'show max_connections',
    );
    expect(rows).to.deep.equal([{ max_connections: '171' }]);
  });

  for (const workers of ['1', '2']) {
    const title = `warns of a running PostgreSQL with too few connections for its pool (workers: ${workers})`;
    it(title, async () => {
      await hub.stop();
      await startEmbeddedPostgres({ dataDir }); // as a command does, and a hub that is killed
      const settings = { HUB_DATA_DIR: dataDir, HUB_DATABASE_POOL: '150', HUB_WORKERS: workers };
      const warnings = () => hub.lines.map((line) => JSON.parse(line)).filter(({ by }) => by !== undefined);
      hub = await spawnHub(settings);
      await until(() => warnings().length > 0, 'a warning');
      expect(warnings()[0]).to.include({ level: 40, databasePool: 150, allowed: 100, by: 'max_connections' });
      expect(warnings()[0].msg).to.contain('stop the hub and start it again');
      await hub.stop();
      hub = await spawnHub(settings);
      await hub.stop();
      await until(() => hub.lines.join().includes('hub has stopped'), 'the log is complete');
      expect(warnings()).to.deep.equal([]);
    });
  }
});

describe('hubctl serve as an ordinary user', () => {
  let dataDir: string;
  before(async function () {
    if (process.geteuid?.() !== 0) return this.skip(); // then all other tests are that
    dataDir = await makeDataDir();
  });
  after(() => dataDir && discard(dataDir));

  it('keeps all files, including PostgreSQL, in the data directory', async function () {
    const account = await unprivilegedAccount();
    if (account === undefined || !(await canEnter(dirname(HUBCTL), account))) return this.skip();
    await chown(dataDir, account.uid, account.gid);
    await chmod(dataDir, 0o700);
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, HOME: dataDir }, account);
    const { licenseKey } = await issueLicense(await adminOf(hub, dataDir));
    expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
    for (const name of ['hub.json', 'master.key', 'postgres/data']) {
      const { uid, mode } = await stat(join(dataDir, name));
      expect({ name, uid, open: mode & 0o077 }).to.deep.equal({ name, uid: account.uid, open: 0 });
    }
    expect(await hub.stop()).to.equal(0);
    expect(await postgresRuns(dataDir)).to.equal(false);
  });
});
