// An output that takes nothing, takes less than it is given, or is no file: no key may be issued into nowhere.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, existsSync, openSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { interruptedError } from '../../cli/errors/failure.ts';
import { openForResults } from '../../cli/output/new-file.ts';
import { formatId } from '../../core/ids.ts';
import { ended, hubctl, type Result, start } from '../cli/spawn-hubctl.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { HUBCTL } from '../support/hub/hub-process.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const KEY = /[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}/g;
const HEADER = 'licenseId,licenseKey,app,seats,limitProfile,limits,customer,expiresAt\r\n';

describe('an unwritable output', () => {
  const app = `app-${randomUUID().slice(0, 8)}`;
  let hub: TestHub;
  let dir: string;

  before(async () => {
    hub = await startHub();
    await hub.admin.createApp({ slug: app, name: '' });
    dir = await mkdtemp(join(tmpdir(), 'hubctl-output-'));
  });
  after(async () => {
    await hub.stop();
    await rm(dir, { recursive: true });
  });

  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const words = (customer: string, ...args: string[]) => [
    ...['key', 'issue', '--app', app, '--customer', customer],
    ...args,
  ];
  const issue = (customer: string, ...args: string[]) => hubctl(words(customer, ...args), env());
  /** Lines of a shell in which "$@" is hubctl with these words. */
  const shell = (script: string, customer: string, ...args: string[]): Promise<Result> =>
    ended(
      spawn('bash', ['-c', script, 'bash', process.execPath, HUBCTL, ...words(customer, ...args)], {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: dir,
        env: {
          PATH: process.env['PATH'],
          XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'],
          HUB_DATA_DIR: '/nonexistent/hub',
          ...env(),
        },
      }),
    );
  const issuedTo = async (customer: string): Promise<string[]> => {
    const rows = await query<{ hint: string }>(
      hub.databaseUrl,
      'select key_hint as hint from license where customer_id = (select id from customer where name = $1)',
      [customer],
    );
    return rows.map(({ hint }) => hint).sort();
  };
  const hints = (printed: string): string[] =>
    [...printed.matchAll(KEY)].map(([key]) => key.slice(-5)).sort();

  describe('is detected before a key is issued:', () => {
    const refused = async (path: string, message: RegExp, ...more: string[]) => {
      const customer = randomUUID();
      const { code, stdout, stderr } = await issue(customer, '--out', path, ...more);
      expect({ code, stdout }, stderr).to.deep.equal({ code: 2, stdout: '' });
      expect(stderr).to.match(message);
      expect(await issuedTo(customer)).to.deep.equal([]);
    };

    it('a full disk', async function () {
      if (!existsSync('/dev/full')) return this.skip();
      await refused('/dev/full', /\/dev\/full cannot be written \(ENOSPC\)/);
    });

    it('a disk with too little space, and an existing file stays', async () => {
      const interruption = { signal: new AbortController().signal, error: interruptedError };
      const options = { force: true, bytes: 2 ** 60, streams: { stdout: new PassThrough() }, interruption };
      const said = (path: string) =>
        openForResults({ ...options, path }).then(
          () => 'opened',
          (error: Error) => error.message,
        );
      const noRoom = /at least \d+\.\d MB are needed, and \d+\.\d MB are free\. Nothing was done\.$/;
      expect(await said(join(dir, 'new.csv'))).to.match(noRoom);
      expect(existsSync(join(dir, 'new.csv'))).to.equal(false);
      await writeFile(join(dir, 'kept.csv'), 'precious');
      expect(await said(join(dir, 'kept.csv'))).to.match(noRoom);
      expect(await readFile(join(dir, 'kept.csv'), 'utf8')).to.equal('precious');
    });

    it('a directory, a socket, a dangling link, a file as a directory', async () => {
      await mkdir(join(dir, 'folder'));
      await refused(join(dir, 'folder'), /folder is a directory\. Give another file with --out/, '--force');
      const socket = createServer().listen(join(dir, 'socket'));
      await refused(join(dir, 'socket'), /socket is a socket/, '--force');
      socket.close();
      await symlink(join(dir, 'nowhere'), join(dir, 'link'));
      await refused(join(dir, 'link'), /link exists/, '--force');
      await writeFile(join(dir, 'file'), '');
      await refused(join(dir, 'file', 'keys.csv'), /cannot be written \(ENOTDIR\)/);
    });

    it('a read-only file', async function () {
      if (process.getuid?.() === 0) return this.skip(); // who may write everything
      const file = join(dir, 'read-only.csv');
      await writeFile(file, 'precious');
      await chmod(file, 0o400);
      await refused(file, /cannot be written \(EACCES\)/, '--force');
    });

    it('a pipe whose reader has exited', async () => {
      const { code, stderr } = await shell(
        'set -o pipefail; "$@" --out /dev/stdout | true',
        'left',
        '--count',
        '3',
      );
      // Fast readers: it may have been there when the header was written.
      expect(code, stderr).to.be.oneOf([1, 2]);
      const issued = await issuedTo('left');
      if (code === 2) expect(issued).to.deep.equal([]);
      else
        expect(stderr).to.contain(
          `${issued.length} of 3 licenses were issued, of which the keys of 0 are surely`,
        );
    });
  });

  describe('that cannot be truncated is written to:', () => {
    it('standard output in a pipe, with nothing else in it', async () => {
      for (const format of ['table', 'json']) {
        const customer = `pipe ${format}`;
        const args = ['--count', '2500', '--out', '/dev/stdout', '-o', format];
        const { code, stdout, stderr } = await shell('set -o pipefail; "$@" | cat', customer, ...args);
        expect(code, stderr).to.equal(0);
        expect(stdout.split('\r\n')).to.have.length(2502);
        expect(stdout.startsWith(HEADER)).to.equal(true);
        expect(hints(stdout)).to.deep.equal(await issuedTo(customer));
        expect(stderr).to.equal(format === 'json' ? '' : 'Licenses issued: 2500\n');
      }
    });

    it('standard output in a file, after its contents', async () => {
      await writeFile(join(dir, 'log'), 'before\n');
      const { code, stderr } = await shell('"$@" --out /dev/stdout >> log', 'appended', '--count', '3');
      expect(code, stderr).to.equal(0);
      const written = await readFile(join(dir, 'log'), 'utf8');
      expect(written.startsWith(`before\n${HEADER}`)).to.equal(true);
      expect(hints(written)).to.deep.equal(await issuedTo('appended'));
    });

    it('process substitution of a shell', async () => {
      const { code, stderr } = await shell('"$@" --out >(cat > copy)', 'process', '--count', '3');
      expect(code, stderr).to.equal(0);
      const keys = await issuedTo('process');
      const copied = () => readFile(join(dir, 'copy'), 'utf8').then(hints);
      await until(async () => (await copied()).length === 3, 'the process has written what it read');
      expect(await copied()).to.deep.equal(keys);
    });

    it('a named pipe, whenever its reader starts', async () => {
      const pipe = join(dir, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const end = ended(start(words('fifo', '--count', '2500', '--out', pipe), env()));
      const reader = execFile('cat', [pipe], { maxBuffer: 10_000_000 });
      const [{ code, stdout, stderr }, read] = await Promise.all([
        end,
        text(reader.stdout ?? Readable.from([])),
      ]);
      expect(code, stderr).to.equal(0);
      expect(stdout).to.contain('2500');
      expect(hints(read)).to.deep.equal(await issuedTo('fifo'));
    });
  });

  it('a reader that exits early: each key is read or its license is named', async () => {
    const pipe = join(dir, 'leaving');
    execFileSync('mkfifo', [pipe]);
    const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const end = ended(start(words('leaves', '--count', '8000', '--out', pipe, '-o', 'json'), env()));
    const chunk = Buffer.alloc(16 * 1024);
    let read = '';
    while (read.length < 150_000) {
      const { bytesRead } = await reader.read(chunk).catch((error) => {
        if (error.code !== 'EAGAIN') throw error;
        return { bytesRead: 0 };
      });
      read += chunk.toString('utf8', 0, bytesRead);
    }
    await reader.close();
    const { code, stderr } = await end;
    expect(code, stderr).to.equal(1);
    const { code: what, message, licenseIds } = JSON.parse(stderr).error;
    expect(what).to.equal('output_failed');
    const [, issued, kept, lost] =
      /(\d+) of 8000 licenses were issued\. (\d+) keys are in \S+\. (\d+) keys may be missing: .*: from lic_/.exec(
        message,
      ) ?? [];
    expect((await issuedTo('leaves')).length, message).to.equal(Number(issued));
    expect(Number(kept) + Number(lost), message).to.equal(Number(issued));
    expect(licenseIds).to.have.length(Number(lost));
    // Whole lines that were read are those of licenses that are kept, or named.
    const rows = read.slice(0, read.lastIndexOf('\r\n')).split('\r\n').slice(1);
    const readIds = new Set(rows.map((row) => row.split(',')[0]));
    const named = new Set<string>(licenseIds);
    expect((await idsOf('leaves')).filter((id) => !readIds.has(id) && !named.has(id))).to.deep.equal([]);
  });

  async function idsOf(customer: string): Promise<string[]> {
    const rows = await query<{ id: string }>(
      hub.databaseUrl,
      'select id from license where customer_id = (select id from customer where name = $1)',
      [customer],
    );
    return rows.map(({ id }) => formatId('lic', id));
  }

  it('a disk that fills up: issued licenses are in the file or named', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    // Bash limits files to so many blocks of 1 KiB; writes beyond that fail with EFBIG.
    const { code, stderr } = await shell(
      'ulimit -f 100; "$@" --out full.csv',
      'full',
      '--count',
      '8000',
      '-o',
      'json',
    );
    expect(code, stderr).to.equal(1);
    const { message, licenseIds } = JSON.parse(stderr).error;
    expect(message).to.contain('full.csv cannot be written (EFBIG)');
    const written = await readFile(join(dir, 'full.csv'), 'utf8');
    const there = new Set(written.split('\r\n').map((row) => row.split(',')[0]));
    const named = new Set<string>(licenseIds);
    expect((await idsOf('full')).filter((id) => !there.has(id) && !named.has(id))).to.deep.equal([]);
  });

  describe('of an export or a backup:', () => {
    it('a directory and a full disk are refused, a pipe is written to', async function () {
      const out = (path: string) => hubctl(['usage', 'export', '--out', path, '--force'], env());
      const folder = await out(dir);
      expect({ code: folder.code, stdout: folder.stdout }).to.deep.equal({ code: 2, stdout: '' });
      expect(folder.stderr).to.contain('is a directory');
      const whole = await hubctl(['usage', 'export'], env());
      const pipe = join(dir, 'usage');
      execFileSync('mkfifo', [pipe]);
      const [written, read] = await Promise.all([
        out(pipe),
        text(execFile('cat', [pipe], { maxBuffer: 10_000_000 }).stdout ?? Readable.from([])),
      ]);
      expect(written.code, written.stderr).to.equal(0);
      expect(read).to.equal(whole.stdout);
      if (!existsSync('/dev/full')) return this.skip();
      const full = await out('/dev/full');
      expect(full.code).to.equal(1);
      expect(full.stderr).to.contain('ENOSPC').and.contain('/dev/full has the first 0 entries only.');
    });

    it('a backup replaces only a file', async () => {
      const passphrase = join(dir, 'passphrase');
      await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
      for (const path of [dir, '/dev/null']) {
        const args = ['backup', 'create', '--out', path, '--force', '--passphrase-file', passphrase];
        const { code, stderr } = await hubctl(args, {
          DATABASE_URL: hub.databaseUrl,
          HUB_DATA_DIR: hub.dataDir,
        });
        expect(code, stderr).to.equal(2);
        expect(stderr).to.contain(`${path} is not a file. Give another with --out.`);
      }
      expect((await stat('/dev/null')).isCharacterDevice()).to.equal(true);
    });
  });

  it('standard output on a full disk names the license whose key may be missing', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    const { code, stderr } = await ended(start(words('seen'), env(), 'ignore', openSync('/dev/full', 'w')));
    expect(code, stderr).to.equal(1);
    expect(stderr).to.match(
      /The license (lic_\w+) was issued, and its key may be missing\. `hubctl license key \1` shows it\./,
    );
  });
});
