// hubctl and the gateway in a process of its own, with a core that speaks TLS.
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import {
  type Certificates,
  type Issuer,
  makeCertificates,
  type Pair,
  replacePair,
} from '../../support/network/certificates.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { hubctlHere } from '../run-here.ts';

describe('a core with TLS', () => {
  let certificates: Certificates;
  let issuer: Issuer;
  let server: Pair;
  let dataDir: string;
  let core: HubProcess;
  const others: HubProcess[] = [];

  before(async () => {
    certificates = await makeCertificates();
    issuer = await certificates.createIssuer('issuer');
    server = await issuer.issue('/CN=hub');
    dataDir = await mkdtemp(join(tmpdir(), 'hub-tls-'));
    core = await spawnHub({
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: await createMigratedDatabase(),
      HUB_RPC_TLS_CERT: server.cert,
      HUB_RPC_TLS_KEY: server.key,
      HUB_RPC_TLS_CLIENT_CA: issuer.ca,
    });
  });
  after(async () => {
    for (const hub of [...others, core]) await hub.stop();
    await discard(dataDir);
    await certificates.remove();
  });

  const local = (...args: string[]) => hubctlHere(args, { HUB_DATA_DIR: dataDir });
  const create = async (...args: string[]) =>
    JSON.parse((await local('token', 'create', ...args, '--output', 'json')).stdout);

  it('is recognized by hubctl on the same machine without options, and by no other name', async () => {
    expect(await local('app', 'create', 'photo-lab')).to.include({ code: 0 });
    expect(await local('doctor')).to.satisfy(({ stdout }: { stdout: string }) =>
      stdout.includes(core.rpcUrl),
    );
    const elsewhere = await hubctlHere(['app', 'list'], {
      HUBCTL_SERVER: core.rpcUrl,
      HUBCTL_TOKEN: 'hub_x',
    });
    expect(elsewhere).to.include({ code: 3, stdout: '' });
    expect(elsewhere.stderr).to.contain('--ca / HUBCTL_CA');
  });

  it('is reported if only one side uses TLS', async () => {
    const { code, stderr } = await local('app', 'list', '--server', core.rpcUrl.replace('https:', 'http:'));
    expect({ code, stderr }).to.deep.equal({
      code: 3,
      stderr: `hubctl: The server at ${core.rpcUrl.replace('https:', 'http:')} closes the connection. If it uses TLS, try ${core.rpcUrl}.\n`,
    });
    const plain = createServer().listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo; // it listens on TCP
    const answer = await local('app', 'list', '--server', `https://127.0.0.1:${port}`);
    plain.close();
    expect(answer).to.include({
      code: 3,
      stderr: `hubctl: The server at https://127.0.0.1:${port} does not use TLS. Try http://127.0.0.1:${port}.\n`,
    });
  });

  it('accepts remote callers with its CA and a token or a certificate', async () => {
    const { token } = await create('--role', 'viewer');
    const from = { HUBCTL_SERVER: core.rpcUrl, HUBCTL_CA: issuer.ca };
    expect(await hubctlHere(['app', 'list'], { ...from, HUBCTL_TOKEN: token })).to.include({ code: 0 });
    expect(await hubctlHere(['app', 'list'], from)).to.include({ code: 4 });

    await create('--role', 'viewer', '--certificate-subject', 'CN=desk');
    const desk = await issuer.issue('/CN=desk');
    const certified = { ...from, HUBCTL_CLIENT_CERT: desk.cert, HUBCTL_CLIENT_KEY: desk.key };
    expect(await hubctlHere(['app', 'list'], certified)).to.include({ code: 0 });
    const half = await hubctlHere(['app', 'list'], { ...from, HUBCTL_CLIENT_CERT: desk.cert });
    expect(half).to.include({ code: 2 });
    expect(half.stderr).to.contain('--client-cert and --client-key together');
    const plain = await hubctlHere(['app', 'list', '--ca', issuer.ca, '--server', 'http://127.0.0.1:1']);
    expect(plain).to.include({ code: 2 });
  });

  it('serves a gateway in another process, by a token or by a certificate', async () => {
    const { token } = await create('--role', 'gateway');
    await create('--role', 'gateway', '--certificate-subject', 'CN=gateway');
    const pair = await issuer.issue('/CN=gateway');
    const proofs = [
      { HUB_CORE_TOKEN: token },
      { HUB_CORE_CLIENT_CERT: pair.cert, HUB_CORE_CLIENT_KEY: pair.key },
    ];
    for (const proof of proofs) {
      const gateway = await spawnHub({
        HUB_ROLE: 'gateway',
        HUB_CORE_URL: core.rpcUrl,
        HUB_CORE_CA: issuer.ca,
        ...proof,
      });
      others.push(gateway);
      const answer = await fetch(`${gateway.gatewayUrl}/v1/apps/photo-lab/public-key`);
      expect(answer.status, Object.keys(proof).join()).to.equal(200);
    }
  });

  it('reloads its certificates on SIGHUP, and keeps serving', async () => {
    await replacePair(server, await issuer.issue('/CN=renewed'));
    core.child.kill('SIGHUP');
    await until(() => core.lines.some((line) => line.includes('has new certificates')), 'they are read');
    expect(core.child.exitCode).to.equal(null);
    expect(await local('app', 'list')).to.include({ code: 0 });
  });
});
