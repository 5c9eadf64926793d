// The executable: its Node.js, its exit codes, and its usage errors.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { HUBCTL_SOURCE } from '../support/hub/hub-process.ts';
import { ended, hubctl, MACHINE_NODE, MACHINE_PATH, start } from './spawn-hubctl.ts';

const HEAVY = '/connectrpc|mikro-orm|protobuf/';
const REFUSE_HEAVY = `data:text/javascript,import { registerHooks } from 'node:module';
registerHooks({ resolve: (name, context, next) => {
  if (${HEAVY}.test(name)) throw new Error('loads ' + name);
  return next(name, context);
} });`;

describe('the hubctl executable', () => {
  it("prints its version with the machine's Node.js", async () => {
    const { code, stdout } = await hubctl(['--version'], { PATH: MACHINE_PATH });
    expect(code).to.equal(0);
    expect(stdout).to.match(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it('prints help with exit codes without loading Connect or the ORM', async () => {
    const child = spawn(process.execPath, ['--import', REFUSE_HEAVY, HUBCTL_SOURCE, '--help']);
    const { code, stdout, stderr } = await ended(child);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout).to.contain('Exit codes:').and.contain('license');
  });

  it('names the required Node.js version when it finds only an older one', async function () {
    const { stdout: version } = await promisify(execFile)(MACHINE_NODE, ['--version']);
    if (Number.parseInt(version.slice(1), 10) >= 24) return this.skip(); // this machine has none
    const { engines } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    const { code, stderr } = await hubctl(['--help'], { HUBCTL_REEXEC: '1', PATH: MACHINE_PATH });
    expect(code).to.equal(1);
    expect(stderr).to.contain(`hubctl needs Node.js ${engines.node.slice(2)} or later; this is v`);
  });

  it('fails if its output cannot be written to a full disk, but not if the reader of a list exits', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    for (const words of [
      ['--help'],
      ['--version'],
      ['context', 'list'],
      ['context', 'show'],
      ['completion', 'bash'],
    ]) {
      const full = await ended(start(words, { HUB_DATA_DIR: '' }, 'ignore', openSync('/dev/full', 'w')));
      expect(full, words.join(' ')).to.include({ code: 1 });
      expect(full.stderr).to.contain('Cannot write to standard output (ENOSPC)');
    }
    const left = start(['context', 'list'], { HUB_DATA_DIR: '' });
    left.stdout?.destroy();
    const [[code], said] = await Promise.all([once(left, 'close'), left.stderr?.toArray()]);
    expect({ code, said }).to.deep.equal({ code: 0, said: [] });
  });

  it('passes a signal on to the program and exits like it', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const address = silent.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      const server = `http://127.0.0.1:${address.port}`;
      const child = start(['app', 'list'], { HUBCTL_SERVER: server, PATH: MACHINE_PATH });
      const [socket] = (await once(silent, 'connection')) as [Socket]; // documented argument of the event
      const hungUp = once(socket.on('error', () => {}).resume(), 'close');
      child.kill(signal);
      expect(await ended(child)).to.deep.include({ code: null, signal });
      await hungUp; // the program itself is gone as well
      silent.close();
    }
  });

  it('reports an unreachable hub with its address, and exits with 3', async () => {
    const { code, stdout, stderr } = await hubctl(['app', 'list', '--server', 'http://127.0.0.1:1']);
    expect({ code, stdout }).to.deep.equal({ code: 3, stdout: '' });
    expect(stderr).to.contain('No hub answers at http://127.0.0.1:1. Start one with `hubctl serve`');
  });

  it('reports wrong usage in one line, and exits with 2', async () => {
    const wrong = [
      ['licens'],
      ['license', 'lst'],
      ['app', 'create'],
      ['app', 'create', 'a', 'b'],
      ['key', 'issue'],
      ['key', 'issue', '--app', 'a', '--seats', 'many'],
      ['app', 'list', '--max', '0'],
      ['app', 'list', '--output', 'xml'],
      ['app', 'list', '--server', 'nowhere'],
      ['license', 'revoke', 'lic_1', '--reason', 'x'],
    ];
    const results = await Promise.all(wrong.map((args) => hubctl(args)));
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      expect({ code, stdout, lines: stderr.split('\n').length - 1 }, wrong[index]?.join(' ')).to.deep.equal({
        code: 2,
        stdout: '',
        lines: 1,
      });
    }
    expect(results[0]?.stderr).to.equal(
      "hubctl: unknown command 'licens' (Did you mean license?). See `hubctl --help`.\n",
    );
    expect(results[9]?.stderr).to.contain('--yes');
  });

  it('prints errors as one JSON object with --output json in any position', async () => {
    const results = await Promise.all([
      hubctl(['--output', 'json', 'app', 'create']),
      hubctl(['app', 'list', '--server', 'http://127.0.0.1:1', '--output=json']),
    ]);
    const codes = results.map(({ stderr }) => JSON.parse(stderr).error.code);
    expect(codes).to.deep.equal(['usage', 'hub_unreachable']);
  });

  it('prints a stack trace only with --debug', async () => {
    const args = ['app', 'list', '--server', 'http://127.0.0.1:1'];
    const [plain, debug] = await Promise.all([hubctl(args), hubctl([...args, '--debug'])]);
    expect(plain.stderr).not.to.match(/^ +at /m);
    expect(debug.stderr).to.match(/^ +at /m);
  });
});
