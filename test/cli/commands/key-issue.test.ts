// hubctl key issue: one key, many keys, and keys in a file.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { pages } from '../../../cli/connect/calls.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { hubctlHere } from '../run-here.ts';
import { ended, start } from '../spawn-hubctl.ts';

const KEY = /[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}/;

describe('hubctl key issue', () => {
  const app = `app-${randomUUID().slice(0, 8)}`;
  let hub: TestHub;
  let dir: string;
  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const issue = (...args: string[]) => hubctlHere(['key', 'issue', '--app', app, ...args], env());
  const count = async (customer: string) => {
    const found = pages(async (page) => {
      const { licenses, nextPageToken } = await hub.admin.listLicenses({ app, customer, ...page });
      return { items: licenses, next: nextPageToken };
    });
    let there = 0;
    for await (const licenses of found) there += licenses.length;
    return there;
  };
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

  it('prints one license with its key, seats and limits', async () => {
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
      '9999-12-31',
    ];
    const { code, stdout } = await issue(...args, '--output', 'json');
    expect(code).to.equal(0);
    const { issued, licenses } = JSON.parse(stdout);
    expect(issued).to.equal(1);
    const [license] = licenses;
    expect(license.licenseId).to.match(/^lic_/);
    expect(license.licenseKey).to.match(KEY);
    expect(license).to.deep.include({
      seats: -1,
      limits: { exports: 20, projects: -1 },
      limitProfile: 'pro',
      customer: 'Ada',
      leaseDays: 30,
      expiresAt: '9999-12-31T23:59:59.999Z',
    });
  });

  it('prints the key first, and says on standard error how to see it again', async () => {
    const { stdout, stderr } = await issue('--seats', '3');
    expect(stdout.split('\n')[0]).to.match(new RegExp(`^License key +${KEY.source}$`));
    expect(stderr).to.contain('`hubctl license key` shows it again');
  });

  it('prints JSON of one shape, for any number of keys and any destination', async () => {
    const file = join(dir, 'shape.csv');
    const [none, one, three, written] = await Promise.all(
      [[], ['--count', '1'], ['--count', '3'], ['--out', file]].map(async (args) =>
        JSON.parse((await issue(...args, '--output', 'json')).stdout),
      ),
    );
    expect(none).to.have.all.keys('licenses', 'issued');
    expect(one.licenses).to.have.length(1);
    const keys = three.licenses.map((item: { licenseKey: string }) => item.licenseKey);
    expect({ issued: three.issued, keys: new Set(keys).size }).to.deep.equal({ issued: 3, keys: 3 });
    expect(written).to.deep.equal({ file, issued: 1 });
  });

  const print = async (...args: string[]) => {
    const { code, stdout, stderr } = await issue(...args, '--output', 'json');
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout).licenses.map(({ licenseId, licenseKey }: Record<string, string>) => [
      licenseId,
      licenseKey,
    ]);
  };

  it('sets every term of a license', async () => {
    const terms = ['--seats', '2', '--feature', 'print,export', '--grace-days', '14', '--lease-days', 'none'];
    const data = ['--metadata', 'edition=pro', '--metadata', 'order=a=b', '--sign-metadata', 'edition'];
    const customer = ['--customer', 'Ada', '--customer-email', 'ada@example.com'];
    const [[licenseId] = []] = await print(...terms, ...data, ...customer, '--valid-for', '1y6m');
    const { license = expect.fail('no license') } = await hub.admin.getLicense({ licenseId });
    const { features, graceDays, leaseDays, metadata, signedMetadata, validFor } = license;
    expect({ features, graceDays, leaseDays, metadata, signedMetadata }).to.deep.equal({
      features: ['export', 'print'],
      graceDays: 14,
      leaseDays: undefined,
      metadata: { edition: 'pro', order: 'a=b' },
      signedMetadata: ['edition'],
    });
    expect(validFor).to.include({ years: 1, months: 6, days: 0 });
    const [[another] = []] = await print('--customer-id', license.customerId ?? '');
    expect((await hub.admin.getLicense({ licenseId: another })).license?.customer).to.equal('Ada');
  });

  it('prints the same licenses and keys again for the same idempotency key', async () => {
    const line = ['--seats', '2', '--feature', 'export', '--idempotency-key', 'ORD-1'];
    const first = await print(...line);
    expect(await print(...line)).to.deep.equal(first);
    const other = await issue(...line, '--grace-days', '1', '--output', 'json');
    expect(JSON.parse(other.stderr).error.code).to.equal('idempotency_key_reused');
  });

  it('repeats each batch of many licenses', async () => {
    const line = ['--count', '1200', '--customer', 'Batches', '--idempotency-key', 'ORD-2'];
    expect(await print(...line)).to.deep.equal(await print(...line));
    expect(await count('Batches')).to.equal(1200);
  });

  it('prints no key that was replaced, and says so', async () => {
    const line = ['--idempotency-key', 'ORD-4'];
    const [[licenseId] = []] = await print(...line);
    await hub.admin.rekeyLicense({ licenseId: licenseId ?? '' });
    const again = await issue(...line, '--output', 'json');
    expect(JSON.parse(again.stdout).licenses[0])
      .to.include({ licenseId })
      .and.not.have.property('licenseKey');
    expect((await issue(...line)).stderr).to.contain(
      'Keys that were replaced since they were issued are missing',
    );
  });

  it('prints features, grace and a validity that starts at the first activation', async () => {
    const period = await issue('--valid-for', '1y', '--feature', 'export');
    expect(period.stdout)
      .to.match(/Expires +1 year after the first activation/)
      .and.match(/Features +export/);
    const day = await issue('--expires', '9998-01-01', '--grace-days', '2');
    expect(day.stdout).to.match(/Grace ends +9998-01-03/);
  });

  it('names the option of a wrong term', async () => {
    const unsigned = await issue('--sign-metadata', 'plan');
    expect(unsigned.stderr).to.contain('--sign-metadata: ');
    const both = await issue('--customer-id', 'cus_1', '--customer', 'Ada');
    expect([both.code, both.stderr]).to.satisfy(
      ([code, text]: [number, string]) =>
        code === 2 && text.includes("'--customer-id <customerId>' cannot be used with"),
    );
  });

  it('refuses an idempotency key that a repeated command could not use', async () => {
    const key = ['--idempotency-key', 'x'.repeat(121)];
    const refused = [
      await issue('--expires', '1y', '--idempotency-key', 'ORD-3'),
      await issue(...key, '--count', '1001'),
      await issue('--expires', '2099-01-01', '--valid-for', '1y'),
    ];
    expect(refused.map(({ code }) => code)).to.deep.equal([2, 2, 2]);
    expect(refused[0]?.stderr).to.contain('give --expires as a date');
  });

  for (const seats of ['0', '-1', '1.5', '']) {
    it(`issues nothing for --seats "${seats}", and shows a valid value`, async () => {
      const { code, stderr } = await issue('--seats', seats, '--customer', 'Seatless');
      expect(code).to.equal(2);
      expect(stderr).to.contain('--seats').and.contain('Give a whole number from 1, or unlimited.');
      expect((await hub.admin.listLicenses({ app, customer: 'Seatless' })).licenses).to.deep.equal([]);
    });
  }

  it('writes the given number of keys to a file that only its owner can read', async () => {
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

  it('overwrites a file only with --force, and only when it has something to write', async () => {
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

  it('reports how many were issued, and where they are, when the reader of its output exits', async () => {
    const child = start(['key', 'issue', '--app', app, '--count', '2500', '--customer', 'Reader'], env());
    child.stdout?.destroy();
    const [[code], stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stderr ?? Readable.from([])),
    ]);
    const [, issued] = /(\d+) of 2500 licenses were issued/.exec(stderr) ?? [];
    expect({ code, there: await count('Reader') }, stderr).to.deep.equal({ code: 1, there: Number(issued) });
    expect(stderr).to.contain(`hubctl license list --app ${app} --max ${issued}`);
  });

  it('names the license whose key was not printed, and exits with 1, when the disk is full', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    for (const format of ['table', 'json']) {
      const child = start(
        ['key', 'issue', '--app', app, '--customer', `Full ${format}`, '-o', format],
        env(),
        'ignore',
        openSync('/dev/full', 'w'),
      );
      const { code, stderr } = await ended(child);
      const { licenses } = await hub.admin.listLicenses({ app, customer: `Full ${format}` });
      expect(code, stderr).to.equal(1);
      expect(stderr).to.contain('ENOSPC').and.contain(`The license ${licenses[0]?.licenseId} was issued`);
    }
  });
});
