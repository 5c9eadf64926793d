// A gateway in a process of its own with two cores behind one address: it outlives each of them, and so do its requests.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { IS_LONG } from '../../support/long.ts';
import { type Balancer, startBalancer } from '../../support/network/balancer.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const CLIENTS = 8;
/** Keeps requests under way at all times, and leaves the processor to the hubs that start. */
const PAUSE_MS = 25;
const ROUNDS = 2;
/** The short form kills each core once. */
const KILLS = IS_LONG ? 4 : 2;

describe('a gateway with two cores', () => {
  let dataDir: string;
  let databaseUrl: string;
  let balancer: Balancer;
  let gateway: HubProcess;
  const cores: HubProcess[] = [];

  const startCore = (): Promise<HubProcess> =>
    spawnHub({ HUB_ROLE: 'core', HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl });
  const startGateway = async (coreUrl: string): Promise<HubProcess> => {
    const token = await readFile(join(dataDir, 'admin-token'), 'utf8');
    return spawnHub({
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: coreUrl,
      HUB_CORE_TOKEN: token,
    });
  };
  const addresses = (): string[] => cores.map(({ rpcUrl }) => rpcUrl);
  /** The answer to a question that a core has to be asked: an app that there is not. */
  const ask = (hub = gateway): Promise<number> =>
    fetch(`${hub.gatewayUrl}/v1/apps/none/public-key`).then(({ status }) => status);

  before(async () => {
    dataDir = await makeDataDir();
    databaseUrl = await createMigratedDatabase();
    cores.push(await startCore());
    cores.push(await startCore());
    balancer = await startBalancer(addresses());
    gateway = await startGateway(balancer.url);
  });
  after(async () => {
    await gateway?.stop();
    for (const core of cores) await core.stop();
    balancer?.close();
    await discard(dataDir);
  });

  it('loses no request while the cores are replaced one after the other', async () => {
    const answers: number[] = [];
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!isOver) {
        answers.push(await ask().catch(() => 0));
        await setTimeout(PAUSE_MS);
      }
    });
    for (let round = 0; round < ROUNDS; round++) {
      const seen = answers.length;
      await until(() => answers.length > seen + 2 * CLIENTS, 'requests are answered');
      cores.push(await startCore());
      const [oldest] = cores.splice(0, 1);
      balancer.leadTo(addresses());
      expect(await oldest?.stop()).to.equal(0);
    }
    isOver = true;
    await Promise.all(clients);
    expect(new Set(answers)).to.deep.equal(new Set([404]));
    expect(gateway.child.exitCode, gateway.complaints()).to.equal(null);
  });

  it('returns at most 503 with Retry-After, never 500, when a core is killed', async () => {
    const seen: { status: number; isRead: boolean; retryAfter: string | null }[] = [];
    let isOver = false;
    const client = async (number: number): Promise<void> => {
      const isRead = number % 2 === 0;
      const body = JSON.stringify({ licenseKey: '7Q2M4-00000-00000-00000-00000', machineFingerprint: 'm' });
      const headers = { 'content-type': 'application/json' };
      while (!isOver) {
        const answer = isRead
          ? await fetch(`${gateway.gatewayUrl}/v1/apps/none/public-key`)
          : await fetch(`${gateway.gatewayUrl}/v1/activate`, { method: 'POST', headers, body });
        await answer.text();
        seen.push({ status: answer.status, isRead, retryAfter: answer.headers.get('retry-after') });
        await setTimeout(PAUSE_MS);
      }
    };
    const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
    for (let kill = 0; kill < KILLS; kill++) {
      const begun = seen.length;
      await until(() => seen.length > begun + 4 * CLIENTS, 'requests are answered');
      const [victim] = cores.splice(0, 1);
      const exited = victim && once(victim.child, 'exit');
      victim?.child.kill('SIGKILL');
      await exited;
      balancer.leadTo(addresses());
      cores.push(await startCore());
      balancer.leadTo(addresses());
    }
    isOver = true;
    await Promise.all(clients);
    const reads = new Set(seen.filter(({ isRead }) => isRead).map(({ status }) => status));
    expect([...reads]).to.deep.equal([404]);
    const writes = seen.filter(({ isRead }) => !isRead);
    expect(new Set(writes.map(({ status }) => status))).to.satisfy((statuses: Set<number>) =>
      [...statuses].every((status) => status === 404 || status === 503),
    );
    for (const { status, retryAfter } of writes) if (status === 503) expect(retryAfter).to.match(/^\d+$/);
  });

  it('is ready again with the other core when its own hangs', async () => {
    expect(await ask()).to.equal(404);
    for (const frozen of cores) {
      const [other] = cores.filter((core) => core !== frozen);
      frozen.child.kill('SIGSTOP'); // as if its machine were gone, its connections stay open
      balancer.leadTo([other?.rpcUrl ?? '']);
      await until(async () => (await ask()) === 404, 'the other core answers', 30_000);
      frozen.child.kill('SIGCONT');
    }
    balancer.leadTo(addresses());
  });

  it('tries another address when a connection fails', async () => {
    const held: Socket[] = [];
    // It accepts, and does not come to terms: over TLS no connection is open before both sides have spoken.
    const nothing = createServer((socket) => held.push(socket)).listen(0, '127.0.0.1');
    await once(nothing, 'listening');
    const { port } = nothing.address() as AddressInfo; // it listens on TCP
    const url = `https://localhost:${port}`;
    const starting = startGateway(url);
    await until(() => held.length > 0, 'the gateway connects');
    const late = await starting; // it comes up all the same: a core that is away may come
    const question = ask(late).catch(() => 0);
    await until(() => held.length > 1, 'it connects anew', 30_000);
    for (const socket of held) socket.destroy();
    nothing.close();
    await question;
    await late.stop();
  });
});
