// How a running hub ends: what is under way is finished, unless somebody is in a hurry.
import { once } from 'node:events';
import { expect } from 'chai';
import { openRaw, type RawConnection } from '../gateway/raw-socket.ts';
import { discard, makeDataDir } from '../support/data-dir.ts';
import { type HubProcess, spawnHub } from '../support/hub-process.ts';
import { createDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const BODY = JSON.stringify({ licenseKey: 'no such key', machineFingerprint: 'machine-1' });

/** A request that the hub has begun to read: its headers are there, the body is asked for and has not come. */
async function beginRequest(hub: HubProcess): Promise<RawConnection> {
  const connection = await openRaw(Number(new URL(hub.gatewayUrl).port));
  connection.socket.write(
    `POST /v1/activate HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until(() => connection.received().includes('100 Continue'), 'the hub reads the body');
  connection.socket.write(BODY.slice(0, 10));
  return connection;
}

const hasLogged = (hub: HubProcess, message: string): boolean =>
  hub.lines.some((line) => line.includes(message));

describe('a hub that is told to stop', function () {
  this.timeout(60_000); // it starts hubs
  let dataDirs: string[];
  let hubs: [HubProcess, HubProcess];
  before(async () => {
    dataDirs = await Promise.all([makeDataDir(), makeDataDir()]);
    const [one = '', two = ''] = dataDirs;
    const start = async (dataDir: string) =>
      spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createDatabase() });
    hubs = await Promise.all([start(one), start(two)]);
  });
  after(async () => {
    await Promise.all((hubs ?? []).map((hub) => hub.stop()));
    await Promise.all(dataDirs.map(discard));
  });

  it('answers what is under way, takes nothing new, and exits with 0', async () => {
    const [hub] = hubs;
    const slow = await beginRequest(hub);
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
    slow.socket.write(BODY.slice(10));
    await slow.closed();
    const answer = slow.received().split('100 Continue\r\n\r\n')[1];
    expect(answer)
      .to.match(/^HTTP\/1\.1 404 /)
      .and.match(/connection: close\r\n/i);
    expect(answer).to.contain('license_key_unknown');
    expect(await exited).to.deep.equal([0, null]);
    expect(performance.now() - finished, 'ms to the exit once nothing is under way').to.be.below(3_000);
    expect(hasLogged(hub, 'hub has stopped')).to.equal(true);
  });

  it('exits at once at a second signal, whatever is under way', async () => {
    const [, hub] = hubs;
    const slow = await beginRequest(hub);
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
});
