// hubctl key issue: one key, many keys, and keys in a file.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { startHub, type TestHub } from '../support/hub.ts';
import { ended, hubctl, start } from './spawn-hubctl.ts';

const KEY = /[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}/;

describe('hubctl key issue', function () {
  this.timeout(60_000); // it starts a hub and programs

  const app = `app-${randomUUID().slice(0, 8)}`;
  let hub: TestHub;
  let dir: string;
  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const issue = (...args: string[]) => hubctl(['key', 'issue', '--app', app, ...args], env());
  const rows = async (file: string) => (await readFile(file, 'utf8')).trimEnd().split('\r\n');

  before(async () => {
    hub = await startHub();
    await hub.admin.createApp({ slug: app, name: '' });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: -1n, exports: 10n } });
    dir = await mkdtemp(join(tmpdir(), 'hubctl-keys-'));
  });
  after(async () => {
    await hub.stop();
    await rm(dir, { recursive: true });
  });

  it('prints one license as an object with its key, seats and limits', async () => {
    const args = [
      '--seats',
      'unlimited',
      '--profile',
      'pro',
      '--limit',
      'exports=20',
      '--customer',
      'Ada',
      '--lease-days',
      '30',
      '--expires',
      '2199-12-31',
    ];
    const { code, stdout } = await issue(...args, '--output', 'json');
    expect(code).to.equal(0);
    const license = JSON.parse(stdout);
    expect(license.licenseId).to.match(/^lic_/);
    expect(license.licenseKey).to.match(KEY);
    expect(license).to.deep.include({
      seats: -1,
      limits: { exports: 20, projects: -1 },
      limitProfile: 'pro',
      customer: 'Ada',
      leaseDays: 30,
      expiresAt: '2199-12-31T23:59:59.000Z',
    });
  });

  it('prints the key first and says on standard error that it is shown only once', async () => {
    const { stdout, stderr } = await issue('--seats', '3');
    expect(stdout.split('\n')[0]).to.match(new RegExp(`^License key +${KEY.source}$`));
    expect(stderr).to.contain('shows a key only now');
  });

  it('prints an array when --count is given, --count 1 too', async () => {
    const [one, three] = await Promise.all([
      issue('--count', '1', '--output', 'json'),
      issue('--count', '3', '--output', 'json'),
    ]);
    expect(JSON.parse(one.stdout)).to.have.length(1);
    const keys = JSON.parse(three.stdout).map((item: { licenseKey: string }) => item.licenseKey);
    expect(new Set(keys).size).to.equal(3);
  });

  it('writes as many keys as asked to a file that only its owner can read', async () => {
    const file = join(dir, 'many.csv');
    const { code, stdout } = await issue('--count', '2500', '--customer', '=1+1', '--out', file);
    expect(code).to.equal(0);
    expect(stdout).to.contain('2500').and.not.to.match(KEY);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const [header, ...lines] = await rows(file);
    expect(header).to.equal('licenseId,licenseKey,app,seats,limitProfile,limits,customer,expiresAt');
    expect(new Set(lines.map((line) => KEY.exec(line)?.[0])).size).to.equal(2500);
    expect(lines[0]).to.contain(",'=1+1,");
  });

  it('overwrites a file with --force only, and not before it has something to write', async () => {
    const file = join(dir, 'taken.csv');
    await writeFile(file, 'precious', { mode: 0o644 });
    const refused = await issue('--out', file);
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.contain('exists').and.contain('--force');
    const failed = await issue('--out', file, '--force', '--profile', 'none');
    expect(failed.code).to.equal(1);
    expect(await readFile(file, 'utf8')).to.equal('precious');

    expect((await issue('--out', file, '--force')).code).to.equal(0);
    expect(await rows(file)).to.have.length(2);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
  });

  it('leaves no file behind if nothing was issued', async () => {
    const { code } = await issue('--out', join(dir, 'nothing.csv'), '--profile', 'none');
    expect(code).to.equal(1);
    expect(await readdir(dir)).not.to.include('nothing.csv');
  });

  it('issues nothing if the file cannot be opened', async () => {
    const { code, stderr } = await issue('--customer', 'Nobody', '--out', join(dir, 'no/such/folder.csv'));
    expect(code).to.equal(2);
    expect(stderr).to.contain('cannot be written (ENOENT)');
    expect((await hub.admin.listLicenses({ app, customer: 'Nobody' })).licenses).to.deep.equal([]);
  });

  it('keeps what was issued when it is interrupted, and says how much that is', async () => {
    const file = join(dir, 'interrupted.csv');
    const child = start(['key', 'issue', '--app', app, '--count', '500000', '--out', file], env());
    const end = ended(child);
    const written = async () => (await stat(file).catch(() => undefined))?.size ?? 0;
    const deadline = Date.now() + 20_000;
    while ((await written()) === 0 && Date.now() < deadline) await setImmediate();
    child.kill('SIGINT');
    const { code, stderr } = await end;
    const [, count] = /^hubctl: Interrupted\. (\d+) of 500000 licenses were issued/.exec(stderr) ?? [];
    expect({ code, count }, stderr).to.deep.equal({
      code: 130,
      count: String((await rows(file)).length - 1),
    });
  });

  it('ends quietly when the reader of its output leaves', async () => {
    const child = start(['key', 'issue', '--app', app, '--count', '3000'], env());
    child.stdout?.destroy();
    const [code] = await once(child, 'exit');
    expect(code).to.equal(0);
  });
});
