// hubctl demo: something to try at once, and the same again at the next start.
import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { DemoReport } from '../../../cli/views/operations/demo.ts';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { activate, checkStatus, post } from '../../support/network/rest.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere } from '../run-here.ts';
import { hubctl, start } from '../spawn-hubctl.ts';

type Demo = { readonly printed: string; interrupt(): Promise<[code: number | null, printed: string]> };

const running = new Set<ChildProcess>();

/** Runs a demo until its output is complete, which `end` tells. */
async function startDemo(words: string[], env: Record<string, string>, end: RegExp): Promise<Demo> {
  const child = start(['demo', '--rpc-port', '0', ...words], env);
  running.add(child);
  let printed = '';
  let complaints = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const exited = once(child, 'close').finally(() => running.delete(child));
  await until(() => end.test(printed) || child.exitCode !== null, 'the demo is ready', 90_000);
  if (child.exitCode !== null) throw new Error(`the demo ended: ${complaints}`);
  return {
    printed,
    async interrupt() {
      child.kill('SIGINT');
      const [code] = await exited;
      return [code, printed];
    },
  };
}

const startJson = async (words: string[], env: Record<string, string>) => {
  const demo = await startDemo(['--output', 'json', ...words], env, /\n/);
  const report: DemoReport = JSON.parse(demo.printed);
  expectPrinted('demo', report);
  return { ...demo, report };
};

describe('hubctl demo', () => {
  let dataDir: string;
  let receiver: WebhookReceiver | undefined;
  beforeEach(async () => {
    dataDir = await makeDataDir();
  });
  afterEach(async () => {
    await receiver?.close();
    receiver = undefined;
    for (const child of running) child.kill('SIGTERM');
    await until(() => running.size === 0, 'every demo has ended', 60_000);
    await discard(dataDir);
  });

  it("names the option for the simulator's port if it is taken, and exits without a hub", async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo; // it listens on TCP
    const words = ['--port', '0', '--rpc-port', '0', '--data-dir', dataDir, '--simulator-port', String(port)];
    const { code, stderr } = await hubctl(['demo', ...words]);
    taken.close();
    expect(code).to.equal(1);
    expect(stderr).to.match(
      new RegExp(`^hubctl: Port ${port} cannot be used: .*Choose another with --simulator-port`, 'm'),
    );
  });

  it('shows the same license at every start, keeps its seats, and prints commands that work', async () => {
    const first = await startJson(['--port', '0', '--data-dir', dataDir], {});
    const { report } = first;
    expect(report.app).to.equal('demo');
    expect(report.seats).to.equal(3);
    expect((await activate(report.gateway, report.licenseKey, 'machine-1')).status).to.equal(200);
    expect((await stat(join(dataDir, 'demo.json'))).mode & 0o777).to.equal(0o600);
    expect(await first.interrupt()).to.deep.equal([0, first.printed]);
    expect(await postgresRuns(dataDir)).to.equal(false);

    const again = await startDemo(
      ['--port', '0', '--data-dir', dataDir],
      {},
      /Ctrl-C stops the hub.*\n.*\n$/,
    );
    expect(again.printed).to.contain(report.licenseId).and.contain(report.licenseKey);
    const [simulator] = /(?<=Providers +)http\S+/.exec(again.printed) ?? [];
    const commands = again.printed.split('\n').filter((line) => /^ {2}(curl|npx) /.test(line));
    const paste = async (command = ''): Promise<string> =>
      (await promisify(execFile)('bash', ['-c', command.replace('npx hubctl', HUBCTL)])).stdout;
    const [activation, status, publicKey, release, show, revoke, charge, orders, events] = commands;
    expect(JSON.parse(await paste(activation))).to.include({ ok: true });
    expect(JSON.parse(await paste(status)).seats).to.deep.equal({ limit: 3, used: 2 });
    expect(await paste(publicKey)).to.match(/^-----BEGIN PUBLIC KEY-----\n/);
    expect(JSON.parse(await paste(release))).to.deep.equal({ ok: true, released: true });
    expect(await paste(show)).to.contain(report.licenseId);
    expect(await paste(revoke)).to.contain('revoked'); // without a question
    expect(await paste(charge))
      .to.contain('100.00 BDT')
      .and.contain(`${simulator}/gateway_one/checkout/`);
    expect(await paste(orders)).to.equal(''); // nothing is paid
    expect(await paste(events)).to.contain('seat.activated');
    expect(commands).to.have.length(9);
    expect(again.printed).to.contain('forget\ntheir payments');
    const [code, all] = await again.interrupt();
    expect(code).to.equal(0);
    expect(all).to.match(/The hub has stopped\. The simulated payments are gone\.\n$/);
  });

  it('charges through simulated providers, whose slots work again at the next start', async () => {
    const database = { DATABASE_URL: await createDatabase() };
    const words = ['--port', '0', '--data-dir', dataDir];
    const first = await startJson([...words, '--simulator-port', '0'], database);
    const { slots, simulator, rpc, token } = first.report;
    expect(slots).to.deep.equal({ gateway_one: 'demo-one', gateway_two: 'demo-two', stripe: 'demo-card' });
    const env = { HUBCTL_SERVER: rpc, HUBCTL_TOKEN: token };
    for (const slot of Object.values(slots)) {
      const create = `session create --slot ${slot} --amount 99.90 --currency BDT --output json`;
      const { sessionId, providerPaymentId } = JSON.parse((await hubctlHere(create.split(' '), env)).stdout);
      const paid = await post(simulator, '/_control/pay', { ref: providerPaymentId });
      expect(paid).to.deep.include({ status: 200 });
      const watched = await hubctlHere(['session', 'watch', sessionId, '--until-final'], env);
      expect(watched.stdout, slot).to.contain('success');
      const { stdout } = await hubctlHere(['session', 'inspect', sessionId, '--output', 'json'], env);
      expect(JSON.parse(stdout).fees).to.have.length(1).and.have.nested.property('[0].amount', '1.50');
    }
    const shop = await (await fetch(first.report.shop)).text();
    expect(shop).to.contain('Demo Standard');
    for (const slot of Object.values(slots)) expect(shop).to.contain(slot);
    receiver = await startWebhookReceiver();
    const add = ['endpoint', 'add', '--url', receiver.url, '--event', '*', '--output', 'json'];
    const { endpointId } = JSON.parse((await hubctlHere(add, env)).stdout);
    expect(await hubctlHere(['endpoint', 'test', endpointId], env)).to.include({ code: 0, stderr: '' });
    await first.interrupt();

    const port = new URL(simulator).port;
    const again = await startJson(words, database);
    expect(again.report).to.deep.include({ slots, simulator });
    await again.interrupt();
    const blocker = createServer().listen(Number(port), '127.0.0.1');
    await once(blocker, 'listening');
    const elsewhere = await startJson(words, { ...database, HUB_EVENT_ALLOW_NETWORKS: '10.0.0.0/8' });
    blocker.close();
    const other = new URL(elsewhere.report.simulator).port;
    expect(other).not.to.equal(port);
    expect(elsewhere.report.slots).to.deep.equal({
      gateway_one: `demo-one-${other}`,
      gateway_two: `demo-two-${other}`,
      stripe: `demo-card-${other}`,
    });
    const elsewhereEnv = { HUBCTL_SERVER: elsewhere.report.rpc, HUBCTL_TOKEN: elsewhere.report.token };
    const refused = await hubctlHere(['endpoint', 'test', endpointId], elsewhereEnv);
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain('is not a public address');
    expect((await elsewhere.interrupt())[0]).to.equal(0);
  });

  it('issues another license if the stored one is missing, damaged or of another database', async () => {
    const kept = join(dataDir, 'demo.json');
    await writeFile(kept, '{"app":"demo","lic', { mode: 0o644 });
    const env = { HUB_DATA_DIR: dataDir, DATABASE_URL: await createDatabase() };
    const first = await startJson(['--port', '0'], env);
    expect((await stat(kept)).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(await readFile(kept, 'utf8')).licenseId).to.equal(first.report.licenseId);
    await first.interrupt();
    await query(env.DATABASE_URL, 'delete from license');

    const port = await freePort();
    const second = await startJson(['--port', `${port}`], env);
    expect(second.report.gateway).to.equal(`http://127.0.0.1:${port}`);
    expect(second.report.licenseId).not.to.equal(first.report.licenseId);
    expect((await checkStatus(second.report.gateway, second.report.licenseId)).status).to.equal(200);
    expect((await second.interrupt())[0]).to.equal(0);
  });
});
