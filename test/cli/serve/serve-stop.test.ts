// How a running hub stops: it finishes current requests, unless a second signal arrives.
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { beginRequest } from '../../support/network/slow-request.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const hasLogged = (hub: HubProcess, message: string): boolean =>
  hub.lines.some((line) => line.includes(message));

describe('a stopping hub', () => {
  let dataDirs: string[];
  let hubs: [HubProcess, HubProcess];
  before(async () => {
    dataDirs = await Promise.all([makeDataDir(), makeDataDir()]);
    const [one = '', two = ''] = dataDirs;
    const start = async (dataDir: string) =>
      spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createMigratedDatabase() });
    hubs = await Promise.all([start(one), start(two)]);
  });
  after(async () => {
    await Promise.all((hubs ?? []).map((hub) => hub.stop()));
    await Promise.all(dataDirs.map(discard));
  });

  it('finishes current requests, accepts no new ones, and exits with 0', async () => {
    const [hub] = hubs;
    const slow = await beginRequest(hub.gatewayUrl);
    const exited = once(hub.child, 'exit');
    // A Ctrl-C can come twice, from the terminal and passed on by npm: it still is one.
    hub.child.kill('SIGTERM');
    hub.child.kill('SIGINT');
    await until(() => hasLogged(hub, 'hub is stopping'), 'the hub is stopping');
    await until(
      () =>
        fetch(hub.gatewayUrl).then(
          () => false,
          () => true,
        ),
      'new connections are refused',
    );
    const finished = performance.now();
    const answer = await slow.finish();
    expect(answer)
      .to.match(/^HTTP\/1\.1 404 /)
      .and.match(/connection: close\r\n/i);
    expect(answer).to.contain('license_key_unknown');
    expect(await exited).to.deep.equal([0, null]);
    expect(performance.now() - finished, 'ms to the exit once nothing is under way').to.be.below(3_000);
    expect(hasLogged(hub, 'hub has stopped')).to.equal(true);
  });

  it('exits even if a step of the stop fails', async () => {
    const dataDir = await makeDataDir();
    dataDirs.push(dataDir);
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createMigratedDatabase() });
    try {
      await rm(join(dataDir, 'hub.json'));
      await mkdir(join(dataDir, 'hub.json')); // cannot be read
      expect(await hub.stop()).to.equal(1);
      expect(hub.complaints()).to.contain('EISDIR');
    } finally {
      hub.child.kill('SIGKILL');
    }
  });

  it('exits at once at a second signal', async () => {
    const [, hub] = hubs;
    const slow = await beginRequest(hub.gatewayUrl);
    hub.child.kill('SIGINT');
    await until(() => hasLogged(hub, 'hub is stopping'), 'the hub is stopping');
    const asked = performance.now();
    await until(() => {
      hub.child.kill('SIGINT');
      return hub.child.exitCode !== null;
    }, 'the hub has exited');
    expect(hub.child.exitCode).to.equal(130);
    expect(performance.now() - asked, 'ms, less than the time it gives to what is under way').to.be.below(
      4_000,
    );
    await slow.closed();
    expect(hasLogged(hub, 'hub has stopped')).to.equal(false);
  });

  for (const workers of ['1', '2']) {
    it(`leaves no PostgreSQL behind after a second signal, with HUB_WORKERS=${workers}`, async function () {
      this.timeout(120_000); // it makes a cluster
      const dataDir = await makeDataDir();
      dataDirs.push(dataDir);
      const hub = await spawnHub({ HUB_DATA_DIR: dataDir, HUB_WORKERS: workers, HUB_DRAIN_SECONDS: '60' });
      expect(await postgresRuns(dataDir)).to.equal(true);
      hub.child.kill('SIGTERM');
      await until(() => hasLogged(hub, 'hub is draining'), 'the hub is draining');
      await until(() => {
        hub.child.kill('SIGTERM');
        return hub.child.exitCode !== null;
      }, 'the hub has exited');
      expect(hub.child.exitCode).to.equal(143);
      await until(async () => !(await postgresRuns(dataDir)), 'PostgreSQL has stopped');
    });
  }
});
