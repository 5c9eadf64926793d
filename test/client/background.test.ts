// The background loop: what it detects, and whom it notifies.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { LicenseClient, Verdict } from '../../client/client.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense } from '../support/hub/license.ts';
import { until } from '../support/until.ts';
import { startImpostor } from './impostor.ts';
import { createMachine, publicKeyOf } from './machine.ts';
import { createVirtualTime, DAY, HOUR, MINUTE } from './virtual-time.ts';

describe('a started license client', () => {
  let hub: TestHub;
  let time = createVirtualTime();
  let clients: LicenseClient[] = [];
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
  });
  after(() => hub.stop());
  beforeEach(() => {
    time = createVirtualTime();
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.stop()));
    clients = [];
  });

  const started = async (request: Parameters<typeof issueLicense>[1] = {}, onError = (_: unknown) => {}) => {
    const issued = await issueLicense(hub.admin, request);
    const trust = { publicKeyPems: [await publicKeyOf(hub.gatewayUrl, issued.app)] };
    const machine = createMachine({ time, hubUrl: hub.gatewayUrl, app: issued.app, trust, onError });
    const client = await machine.open();
    clients.push(client);
    await client.activate(issued.licenseKey);
    const heard: string[] = [];
    client.subscribe((verdict) => heard.push(wordOf(verdict)));
    client.start();
    await settled(client);
    return { issued, machine, client, heard };
  };
  /** Calls of the hub take turns: after one more, the previous one is finished, and the loop waits. */
  const settled = async (client: LicenseClient) => {
    await client.recheck();
    await new Promise(setImmediate);
  };

  it('notices a revocation and reports it once', async () => {
    const { issued, client, heard } = await started();
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    time.advance(DAY);
    await until(() => heard.length > 0, 'the listener receives the revocation');
    for (let hour = 0; hour < 48; hour++) {
      await settled(client);
      time.advance(HOUR);
    }
    expect(heard).to.deep.equal(['license_revoked']);
  });

  it('notices the expiry of a license immediately', async () => {
    const expiresAt = { seconds: BigInt(time.date().getTime() / 1000 + 90), nanos: 0 };
    const { client, heard } = await started({ expiresAt });
    time.advance(89_999);
    await settled(client);
    expect(heard).to.deep.equal([]);
    time.advance(1);
    await until(() => heard.length > 0, 'the listener receives the end');
    expect(heard).to.deep.equal(['license_expired']);
  });

  it('renews a lease before it ends', async () => {
    const { machine, heard, client } = await started({ leaseDays: 3 });
    for (let hour = 0; hour < 10 * 24; hour++) {
      time.advance(HOUR);
      await settled(client);
    }
    expect(client.current().licensed).to.equal(true);
    expect(heard.every((word) => word === 'licensed')).to.equal(true);
    const renewals = machine.requests.filter((request) => request.startsWith('POST')).length - 1;
    expect(renewals).to.be.within(3, 5);
  });

  it('reports that the hub is unreachable, and reachable again', async () => {
    const { machine, heard, client } = await started();
    await client.stop();
    let isDown = true;
    const cut: typeof fetch = (input, init) =>
      isDown ? Promise.reject(new TypeError('no network')) : fetch(input, init);
    const again = await machine.open({ fetch: cut });
    clients.push(again);
    again.subscribe((verdict) => heard.push(`${wordOf(verdict)} ${verdict.problem?.code ?? ''}`.trim()));
    time.advance(DAY);
    again.start();
    await until(() => heard.length === 1, 'the problem is reported');
    await settled(again);
    isDown = false;
    time.advance(MINUTE);
    await until(() => heard.length === 2, 'the end of the problem is reported');
    expect(heard).to.deep.equal(['licensed network', 'licensed']);
  });

  it('continues if a listener throws, and passes the error on', async () => {
    const errors: unknown[] = [];
    const { issued, client, heard } = await started({}, (error) => errors.push(error));
    const thrown = new Error('a bug of the application');
    client.subscribe(() => {
      throw thrown;
    });
    client.subscribe(async () => {
      throw thrown;
    });
    client.subscribe((verdict) => heard.push(`after ${wordOf(verdict)}`));
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    time.advance(DAY);
    await until(() => heard.length === 2, 'the listeners receive the revocation');
    expect(errors).to.deep.equal([thrown, thrown]);
    expect(heard).to.deep.equal(['license_revoked', 'after license_revoked']);
  });

  it('does not call unsubscribed listeners', async () => {
    const { issued, client, heard } = await started();
    const also: string[] = [];
    const unsubscribe = client.subscribe((verdict) => also.push(wordOf(verdict)));
    unsubscribe();
    await hub.admin.revokeLicense({ licenseId: issued.licenseId, reason: 'refund' });
    await client.recheck({ force: true });
    expect([heard, also]).to.deep.equal([['license_revoked'], []]);
  });

  it('sends no requests after stop, and aborts the current one', async () => {
    const { machine, client } = await started();
    await client.stop();
    const asked = machine.requests.length;
    time.advance(30 * DAY);
    await new Promise(setImmediate);
    expect(machine.requests).to.have.length(asked);

    let arrived = 0;
    await using silent = await startImpostor(() => {
      arrived += 1;
    });
    const waiting = await machine.open(silent);
    waiting.start();
    await until(() => arrived === 1, 'the verification is running');
    await waiting.stop();
    expect(waiting.current()).to.include({ licensed: true, problem: undefined });
  });

  it('can be started twice, and restarted', async () => {
    const { machine, client } = await started();
    client.start();
    await client.stop();
    client.start();
    await settled(client);
    const asked = machine.requests.length;
    time.advance(DAY);
    await until(() => machine.requests.length > asked, 'it asks');
    await settled(client);
    expect(machine.requests).to.have.length(asked + 1);
  });

  it('keeps no process alive', async () => {
    const program = `
      import { createLicenseClient, createMemoryStore } from ${JSON.stringify(new URL('../../client/client.ts', import.meta.url))};
      const client = await createLicenseClient({
        hubUrl: ${JSON.stringify(hub.gatewayUrl)}, app: 'no-such-app', machineFingerprint: 'machine-1',
        trust: { thumbprints: ['${'A'.repeat(43)}'] }, freeLimits: {}, store: createMemoryStore(),
      });
      client.subscribe((verdict) => console.log(verdict.problem.code));
      client.start();
      await new Promise((resolve) => client.subscribe(resolve));`;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 15_000 });
    expect(stdout).to.equal('app_unknown\n');
  });
});

function wordOf(verdict: Verdict): string {
  return verdict.licensed ? 'licensed' : verdict.reason;
}
