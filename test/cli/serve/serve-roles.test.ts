// The tiers apart: a core and a gateway in processes of their own answer as one process does.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { discard, localToken, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { scrape } from '../../support/hub/metrics.ts';
import { activate, checkStatus, deactivate, post, type RestAnswer } from '../../support/network/rest.ts';
import { until } from '../../support/until.ts';

describe('a gateway and a core in two processes', () => {
  let whole: TestHub;
  let dataDir: string;
  let core: HubProcess;
  let gateway: HubProcess;
  before(async () => {
    whole = await startHub();
    dataDir = await makeDataDir();
    core = await spawnHub({
      HUB_ROLE: 'core',
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: whole.databaseUrl,
      HUB_MASTER_KEY_FILE: join(whole.dataDir, 'master.key'),
    });
    const gatewayToken = await createToken(Role.GATEWAY);
    gateway = await spawnHub({
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: core.rpcUrl,
      HUB_CORE_TOKEN: gatewayToken,
    });
  });
  after(async () => {
    await gateway?.stop();
    await core?.stop();
    await whole?.stop();
    await discard(dataDir);
  });

  const tokens = async () => {
    const admin = await localToken(dataDir);
    return createClient(TokenService, transportTo(core.rpcUrl, admin));
  };
  const createToken = async (role: Role): Promise<string> =>
    (await (await tokens()).createToken({ role })).token;

  /** Starts a gateway with a token of its own in a file. */
  const startWithTokenFile = async (name: string) => {
    const client = await tokens();
    const { token, serviceToken } = await client.createToken({ role: Role.GATEWAY });
    const file = join(dataDir, name);
    await writeFile(file, token, { mode: 0o600 });
    const apart = await spawnHub({
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: core.rpcUrl,
      HUB_CORE_TOKEN_FILE: file,
    });
    const revoke = () => client.revokeToken({ tokenId: serviceToken?.tokenId ?? '' });
    return { apart, file, revoke };
  };

  it('continue when the token in the file of the gateway is replaced and then revoked', async () => {
    const { apart, file, revoke } = await startWithTokenFile('core-token');
    try {
      const { licenseKey, licenseId } = await issueLicense(whole.admin);
      expect((await activate(apart.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
      await writeFile(file, await createToken(Role.GATEWAY));
      await revoke();
      const statuses = await Promise.all([
        activate(apart.gatewayUrl, licenseKey, 'machine-2'),
        checkStatus(apart.gatewayUrl, licenseId, 'machine-1'),
      ]);
      expect(statuses.map(({ status }) => status)).to.deep.equal([200, 200]);
    } finally {
      await apart.stop();
    }
  });

  it('are not ready while the core refuses the token of the gateway, and recover by another in its file', async () => {
    const { apart, file, revoke } = await startWithTokenFile('revoked-token');
    const ready = async () => (await fetch(`${apart.gatewayUrl}/readyz`)).status;
    const logged = (text: string) => apart.lines.filter((line) => line.includes(text));
    try {
      expect(await ready()).to.equal(200);
      await revoke();
      await until(async () => (await ready()) === 503, 'the gateway is not ready', 20_000);
      expect((await fetch(`${apart.gatewayUrl}/healthz`)).status).to.equal(200);
      const refused = 'not ready: HUB_CORE_TOKEN: the core does not accept it';
      await until(() => logged(refused).length > 0, 'the gateway logs why');
      const [line, ...more] = logged(refused);
      expect(line).to.contain('hubctl token create --role gateway --name gateway');
      expect(more).to.deep.equal([]);
      await writeFile(file, await createToken(Role.GATEWAY));
      await until(async () => (await ready()) === 200, 'the gateway is ready again', 20_000);
      const again = 'ready again: the core accepts HUB_CORE_TOKEN';
      await until(() => logged(again).length === 1, 'the gateway logs that it is ready again');
      const { licenseKey } = await issueLicense(whole.admin);
      expect((await activate(apart.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
    } finally {
      await apart.stop();
    }
  });

  it('end at once if the gateway has the token of another role', async () => {
    const started = spawnHub({
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: core.rpcUrl,
      HUB_CORE_TOKEN: await createToken(Role.SERVICE),
    });
    const failure = await started.then(
      () => 'it started',
      (error) => String(error),
    );
    expect(failure).to.contain('HUB_CORE_TOKEN: its role is service');
    expect(failure).to.contain('hubctl token create --role gateway');
  });

  /** What a desktop application and its mistakes get to see, from a license of one seat. */
  async function story(url: string): Promise<RestAnswer[]> {
    const { licenseKey, licenseId, app } = await issueLicense(whole.admin, { seatLimit: 1 });
    const answers = [
      await activate(url, licenseKey, 'machine-1', { machineLabel: 'Laptop', appVersion: '1.2' }),
      await activate(url, licenseKey, 'machine-2'),
      await activate(url, licenseKey, '', { appVersion: 'one' }),
      await activate(
        url,
        licenseKey.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        'machine-1',
      ),
      await post(url, '/v1/activate', { licenseKey, machineFingerprint: 7 }),
      await checkStatus(url, licenseId, 'machine-1'),
      await checkStatus(url, licenseId, 'machine-2'),
      await checkStatus(url, 'lic_unknown'),
      await deactivate(url, licenseKey, 'machine-1'),
      await deactivate(url, licenseKey, 'machine-3'),
    ];
    await whole.admin.revokeLicense({ licenseId, reason: 'charged back' });
    answers.push(await activate(url, licenseKey, 'machine-1'), await checkStatus(url, licenseId));
    const own = new RegExp(`${licenseId}|${app}`, 'g');
    return answers.map(({ status, body }) => ({ status, body: withoutChance(body, own) }));
  }

  it('answer activations and errors like one process', async () => {
    const [apart, together] = await Promise.all([story(gateway.gatewayUrl), story(whole.gatewayUrl)]);
    expect(apart.map(({ status }) => status)).to.deep.equal([
      200, 409, 400, 404, 400, 200, 403, 404, 200, 404, 410, 410,
    ]);
    expect(apart[1]?.body).to.deep.include({ code: 'seat_limit_reached', seats: { limit: 1, used: 1 } });
    const fields = apart[2]?.body.errors.map(({ field }: { field: string }) => field);
    expect(fields).to.have.members(['machineFingerprint', 'appVersion']);
    expect(apart).to.deep.equal(together);
  });

  it('log the same request id, which the client gets too', async () => {
    const { headers } = await fetch(`${gateway.gatewayUrl}/v1/apps/nothing-here/public-key`);
    const id = headers.get('x-request-id') ?? 'no request id';
    for (const process of [gateway, core]) {
      await until(() => process.lines.some((line) => line.includes(id)), `${id} is in the log`);
    }
  });

  it('serve each its own metrics, to the same callers', async () => {
    const token = await localToken(dataDir);
    const [ofGateway, ofCore] = await Promise.all(
      [gateway.metricsUrl, core.rpcUrl].map((rpcUrl) => scrape({ rpcUrl, token })),
    );
    expect(ofGateway?.sum('hub_http_requests_total', { route: '/v1/activate' })).to.be.above(0);
    expect(ofGateway?.families.has('hub_callbacks_total')).to.equal(false);
    expect(ofCore?.sum('hub_rpc_requests_total', { method: 'Activate' })).to.be.above(0);
    expect(ofCore?.families.has('hub_http_requests_total')).to.equal(false);
    expect([ofGateway, ofCore].map((told) => told?.samples[0]?.labels['role'])).to.deep.equal([
      'gateway',
      'core',
    ]);
    const refused = [];
    for (const headers of [{}, { authorization: 'Bearer hub_wrong' }]) {
      refused.push((await fetch(`${gateway.metricsUrl}/metrics`, { headers })).status);
    }
    refused.push((await fetch(`${gateway.metricsUrl}/`)).status);
    expect(refused).to.deep.equal([401, 401, 404]);
  });

  it('report a gateway as alive but not ready while the core is down', async () => {
    const token = await localToken(dataDir);
    const ready = async () => (await fetch(`${gateway.gatewayUrl}/readyz`)).status;
    expect(await ready()).to.equal(200);
    expect(await core.stop()).to.equal(0);
    // Cached results are reported for half a second.
    await until(async () => (await ready()) === 503, 'the gateway is not ready');
    expect((await fetch(`${gateway.gatewayUrl}/healthz`)).status).to.equal(200);
    const { status, body } = await activate(gateway.gatewayUrl, 'any', 'machine-1');
    expect({ status, code: body.code }).to.deep.equal({ status: 503, code: 'unavailable' });
    // Known callers still see the error.
    const told = await scrape({ rpcUrl: gateway.metricsUrl, token });
    expect(told.sum('hub_http_problems_total', { code: 'unavailable' })).to.be.at.least(1);
    expect(await gateway.stop()).to.equal(0);
  });
});

/** A body without what differs from license to license and from request to request. */
function withoutChance(body: object, own: RegExp): RestAnswer['body'] {
  const chance = new Set(['signature', 'issuedAt', 'seatId', 'kid', 'publicKeyPem', 'checkedAt', 'instance']);
  return JSON.parse(
    JSON.stringify(body, (name, value) => (chance.has(name) ? typeof value : value)).replace(own, 'its own'),
  );
}
