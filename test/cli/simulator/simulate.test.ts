// hubctl simulate, run as a person would.
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { SimulatorReport } from '../../../cli/views/operations/simulator.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { ended, hubctl, type Result, start } from '../spawn-hubctl.ts';

type Run = { readonly printed: () => string; readonly result: Promise<Result>; readonly child: ChildProcess };

describe('hubctl simulate', () => {
  let folder: string;
  const children = new Set<ChildProcess>();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-simulate-'));
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs it until it is ready. */
  const run = async (...words: string[]): Promise<Run> => {
    const child = start(['simulate', '--port', '0', ...words]);
    children.add(child);
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const result = ended(child);
    await until(() => /(Ctrl-C.*|\})\n$/.test(printed) || child.exitCode !== null, 'it is ready');
    return { printed: () => printed, result, child };
  };

  it('prints one JSON line, serves the providers, and ends at SIGTERM', async () => {
    const { printed, result, child } = await run('--output', 'json', '--fault-seed', '7');
    const report: SimulatorReport = JSON.parse(printed());
    expectPrinted('simulate', report);
    expect(report.faults).to.deep.equal({ seed: 7, rate: 0 });
    expect(report.gateways).to.deep.equal({
      gateway_one: `${report.url}/gateway_one`,
      gateway_two: `${report.url}/gateway_two`,
      stripe: `${report.url}/stripe`,
    });
    const { username, password, appKey, appSecret } = report.credentials.gateway_two;
    const grant = await fetch(`${report.gateways.gateway_two}/token/grant`, {
      method: 'POST',
      headers: { username, password },
      body: JSON.stringify({ app_key: appKey, app_secret: appSecret }),
    });
    expect(await grant.json()).to.include({ statusCode: '0000' });
    child.kill('SIGTERM');
    expect(await result).to.include({ code: 0, stdout: printed(), stderr: '' });
  });

  it('writes credentials files for their owner only, and replaces existing ones', async () => {
    const directory = join(folder, 'new', 'credentials');
    const first = await run('--output', 'json', '--credentials-dir', directory);
    const { credentials, credentialsFiles }: SimulatorReport = JSON.parse(first.printed());
    expect(credentialsFiles).to.deep.equal({
      gateway_one: join(directory, 'gateway_one.json'),
      gateway_two: join(directory, 'gateway_two.json'),
      stripe: join(directory, 'stripe.json'),
    });
    const file = join(directory, 'gateway_one.json');
    await writeFile(file, 'old', { mode: 0o644 });
    await run('--output', 'json', '--credentials-dir', directory);
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal(credentials.gateway_one);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(await readFile(join(directory, 'gateway_two.json'), 'utf8'))).to.have.all.keys(
      'username',
      'password',
      'appKey',
      'appSecret',
    );
  });

  it('prints how to add slots, and the seed that repeats its faults', async () => {
    const { printed } = await run('--fault-rate', '0.25', '--fault-seed', '42', '--credentials-dir', folder);
    expect(printed()).to.contain('25 % of all operations, seed 42');
    expect(printed()).to.match(
      /hubctl slot add gateway-one --gateway gateway_one --environment sandbox --base-url http\S+\/gateway_one --credentials-file '\S+\/gateway_one.json'/,
    );
  });

  it('prints each fault when it happens, and a line when it stops', async () => {
    const { printed, result, child } = await run();
    const [, url] = /Address +(\S+)/.exec(printed()) ?? [];
    const ask = (path: string, body: object) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await ask('/_control/fault', { kind: 'error_500', operation: 'gateway_two.grant' });
    expect((await ask('/gateway_two/token/grant', {})).status).to.equal(500);
    child.kill('SIGHUP');
    const { code, stdout, stderr } = await result;
    expect(code).to.equal(0);
    expect(stderr).to.match(/^\S+Z {2}fault: error_500 at gateway_two\.grant\n$/);
    expect(stdout).to.match(/The simulator has stopped\. Its payments are gone\.\n$/);
  });

  it('reports wrong options, and a port that is taken', async () => {
    const rate = await hubctl(['simulate', '--fault-rate', '2']);
    expect(rate).to.include({ code: 2, stdout: '' });
    expect(rate.stderr).to.match(/fault-rate.*from 0 to 1/);
    const other = createServer().listen(0, '127.0.0.1');
    await until(() => other.listening, 'the port is taken');
    const address = other.address();
    const port = typeof address === 'object' ? `${address?.port}` : '';
    const taken = await hubctl(['simulate', '--port', port]);
    other.close();
    expect(taken).to.include({ code: 1, stdout: '' });
    expect(taken.stderr).to.contain(`Port ${port} cannot be used`).and.contain('--port');
  });

  it('refuses an unwritable directory for credentials', async () => {
    await writeFile(join(folder, 'file'), '');
    for (const directory of [join(folder, 'file'), '/proc/simulator']) {
      const refused = await hubctl(['simulate', '--port', '0', '--credentials-dir', directory]);
      expect(refused, directory).to.include({ code: 2, stdout: '' });
      expect(refused.stderr).to.contain('cannot be written to').and.contain('--credentials-dir');
    }
  });
});
