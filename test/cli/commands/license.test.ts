// The commands that list and change licenses after the sale.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { activate } from '../../support/network/rest.ts';
import { runHere } from '../run-here.ts';

describe('hubctl license', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const run = (...words: string[]) => runHere(words, hub);
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words, '--output', 'json');
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  const inDays = (days: number) => ({
    seconds: BigInt(Math.floor(Date.now() / 1000) + days * 86_400),
    nanos: 0,
  });
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

  it('changes the terms of a license', async () => {
    const { licenseId, licenseKey, app } = await issueLicense(hub.admin);
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { users: 5n } });
    const changed = await json(
      ...[
        'license',
        'update',
        licenseId,
        '--seats',
        '5',
        '--limit',
        'projects=10',
        '--feature',
        'export,sync',
      ],
      ...['--expires', '2027-12-31', '--grace-days', '14', '--lease-days', '7', '--profile', 'pro'],
      ...['--metadata', 'Order_Id=A=1', '--sign-metadata', 'Order_Id', '--expected-version', '1'],
      ...['--idempotency-key', 'order-1'],
    );
    expect(changed).to.deep.include({
      seats: 5,
      limits: { projects: 10, users: 5 },
      ownLimits: { projects: 10 },
      features: ['export', 'sync'],
      expiresAt: '2027-12-31T23:59:59.999Z',
      graceDays: 14,
      leaseDays: 7,
      metadata: { Order_Id: 'A=1' },
      signedMetadata: ['Order_Id'],
      termsVersion: 2,
      seatsOverLimit: 0,
    });
    const removed = await json(
      ...[
        'license',
        'update',
        licenseId,
        '--no-profile',
        '--remove-limit',
        'projects',
        '--remove-feature',
        'sync',
      ],
      ...['--expires', 'never', '--lease-days', 'none', '--remove-metadata', 'Order_Id'],
    );
    expect(removed).to.deep.include({ limits: {}, features: ['export'], metadata: {}, signedMetadata: [] });
    expect(removed).to.not.have.any.keys('expiresAt', 'leaseDays', 'limitProfile');
    for (const machine of ['a', 'b']) await activate(hub.gatewayUrl, licenseKey, machine);
    const { stdout } = await run('license', 'update', licenseId, '--seats', '1');
    expect(stdout).to.match(/^Seats over +1$/m);
  });

  it('renews, suspends, resumes and transfers a license', async () => {
    const { licenseId } = await issueLicense(hub.admin, { expiresAt: { seconds: 1_900_000_000n, nanos: 0 } });
    const once = ['license', 'renew', licenseId, '--by', '1y6m', '--idempotency-key', 'invoice-1'];
    for (let time = 0; time < 2; time++)
      expect((await json(...once)).expiresAt).to.equal('2031-09-17T17:46:40.000Z');
    expect((await json('license', 'renew', licenseId, '--to', '2033-01-31')).expiresAt).to.equal(
      '2033-01-31T23:59:59.999Z',
    );
    const suspended = await json('license', 'suspend', licenseId, '--reason', 'unpaid', '--yes');
    expect(suspended).to.include({ state: 'suspended', suspendReason: 'unpaid' });
    expect(await json('license', 'resume', licenseId)).to.include({ state: 'active' });
    const other = await issueLicense(hub.admin, { customer: 'Grace Hopper' });
    const { license } = await hub.admin.getLicense({ licenseId: other.licenseId });
    const customerId = license?.customerId ?? '';
    expect(await json('license', 'transfer', licenseId, '--customer-id', customerId)).to.include({
      customer: 'Grace Hopper',
      customerId,
    });
  });

  it('lists by each filter, and writes CSV', async () => {
    const app = await createApp(hub.admin);
    const licenseId = (
      await issueLicense(hub.admin, { app, customer: '=Ada', expiresAt: inDays(30), features: ['b', 'a'] })
    ).licenseId;
    await issueLicense(hub.admin, { app });
    await hub.admin.updateLicense({ licenseId, setMetadata: { order: '17', plan: 'gold' } });
    const found = async (...filter: string[]) =>
      (await json('license', 'list', '--app', app, ...filter)).map(
        (item: { licenseId: string }) => item.licenseId,
      );
    const { license } = await hub.admin.getLicense({ licenseId });
    for (const filter of [
      ['--customer', '=Ada'],
      ['--customer-id', license?.customerId ?? ''],
      ['--metadata', 'order=17', '--metadata', 'plan=gold'],
      ['--expires-before', day(40), '--expires-after', day(20)],
      ['--search', 'gol'],
      ['--hint', license?.keyHint ?? ''],
      ['--state', 'active', '--customer', '=Ada', '--inactive-since', day(0)],
    ]) {
      expect(await found(...filter), filter.join(' ')).to.deep.equal([licenseId]);
    }
    expect(await found('--active-since', day(-1))).to.deep.equal([]);
    const { stdout } = await run('license', 'list', '--app', app, '--customer', '=Ada', '--format', 'csv');
    const [header, line] = stdout.split('\r\n');
    expect(header).to.match(/^licenseId,app,/);
    expect(line).to.include(`${licenseId},${app},`).and.include(`,a;b,`).and.include(`,'=Ada,`);
    const path = join(hub.dataDir, 'licenses.csv');
    expect(await json('license', 'list', '--app', app, '--out', path)).to.deep.equal({
      file: path,
      exported: 2,
    });
    expect((await readFile(path, 'utf8')).split('\r\n')).to.have.length(4);
  });

  it('renews all licenses of a filter, once for an idempotency key, and goes on after a failure', async () => {
    const app = await createApp(hub.admin);
    const ending = await Promise.all(
      [1, 2, 3].map(() => issueLicense(hub.admin, { app, expiresAt: inDays(10) })),
    );
    const lasting = await issueLicense(hub.admin, { app, expiresAt: inDays(900) });
    const revoked = ending[0]?.licenseId ?? '';
    await hub.admin.revokeLicense({ licenseId: revoked, reason: 'refund' });
    const words = ['license', 'renew', '--app', app, '--expires-before', day(100), '--by', '1m'];
    const preview = await json(...words, '--dry-run');
    expect(preview.map((item: { licenseId: string }) => item.licenseId)).to.have.members(
      ending.map(({ licenseId }) => licenseId),
    );
    expect((await run(...words)).stderr).to.include('Give --yes to renew without it');
    const version = async (licenseId: string) =>
      (await hub.admin.getLicense({ licenseId })).license?.termsVersion;
    expect(await version(ending[1]?.licenseId ?? '')).to.equal(1);
    for (let time = 0; time < 2; time++) {
      const { code, stdout, stderr } = await run(
        ...[...words, '--yes', '--idempotency-key', 'invoice-2', '--output', 'json'],
      );
      expect(code).to.equal(1);
      expect(JSON.parse(stderr)).to.nested.include({ 'error.code': 'some_failed' });
      const { failed, ...result } = JSON.parse(stdout);
      const counts = time === 0 ? { changed: 2, unchanged: 0 } : { changed: 0, unchanged: 2 };
      expect(result).to.deep.equal({ matched: 3, ...counts, idempotencyKey: 'invoice-2' });
      expect(failed).to.have.length(1);
      expect(failed[0]).to.include({ licenseId: revoked, code: 'license_revoked' });
    }
    expect(await version(ending[1]?.licenseId ?? '')).to.equal(2);
    expect(await version(lasting.licenseId)).to.equal(1);
    expect((await run(...words, '--state', 'active', '--yes')).stderr).to.match(
      /^Idempotency key: [0-9a-f-]{36}\./,
    );
  });

  it('updates, suspends and resumes all licenses of a filter', async () => {
    const app = await createApp(hub.admin);
    for (const number of [1, 2]) await issueLicense(hub.admin, { app, customer: `Customer ${number}` });
    const all = ['--app', app, '--yes'];
    expect(await json('license', 'update', ...all, '--feature', 'export')).to.include({
      matched: 2,
      changed: 2,
    });
    expect(await json('license', 'suspend', ...all, '--reason', 'unpaid')).to.include({ changed: 2 });
    const { stdout } = await run('license', 'suspend', ...all, '--reason', 'unpaid');
    expect(stdout).to.match(/^Matched +2\nChanged +0\nUnchanged +2\nFailed +0\n$/);
    expect(await json('license', 'list', '--app', app, '--state', 'suspended')).to.have.length(2);
    expect(await json('license', 'resume', ...all, '--state', 'suspended')).to.include({ changed: 2 });
    expect(await json('license', 'resume', ...all, '--state', 'suspended')).to.deep.equal({
      matched: 0,
      changed: 0,
      unchanged: 0,
      failed: [],
    });
  });

  it('refuses a license with a filter, neither, and no change', async () => {
    const { licenseId, app } = await issueLicense(hub.admin);
    for (const [words, message] of [
      [['renew', licenseId, '--app', app, '--by', '1y'], 'not both'],
      [['renew', '--by', '1y'], 'a filter such as --app'],
      [['renew', licenseId], 'Give --by'],
      [['renew', licenseId, '--by', '1h'], '1y6m'],
      [['update', licenseId], 'Give a term to change'],
      [['update', '--app', app, '--seats', '1', '--expected-version', '1'], 'one license'],
      [['suspend', licenseId, '--reason', 'x'], 'Give --yes to suspend'],
      [['list', '--active-since', '2026-02-31'], 'Give a day in UTC'],
    ] as const) {
      const { code, stderr } = await run('license', ...words);
      expect(code, words.join(' ')).to.equal(2);
      expect(stderr, words.join(' ')).to.include(message);
    }
    const refused = await run('license', 'update', licenseId, '--limit', '9=1');
    expect(refused.stderr).to.include('--limit');
  });

  it('gives an app default terms, and says what the lease is for', async () => {
    const created = await run('app', 'create', 'leased');
    expect(created.stdout).to.match(/^Default lease +30 days$/m);
    expect(created.stdout).to.include('lease of 30 days, so that a revocation also reaches machines');
    expect(created.stdout).to.include('hubctl app update leased --lease-days <n>');
    const none = await run(
      'app',
      'create',
      'unleased',
      '--lease-days',
      'none',
      '--grace-days',
      '3',
      '--seats',
      '2',
    );
    expect(none.stdout).to.include('New licenses have no lease');
    const updated = await json('app', 'update', 'unleased', '--lease-days', '14', '--seats', 'unlimited');
    expect(updated.defaultTerms).to.deep.equal({ leaseDays: 14, graceDays: 3, seatLimit: -1 });
    const issued = await issueLicense(hub.admin, { app: 'unleased', seatLimit: 0 });
    expect(await json('license', 'show', issued.licenseId)).to.include({
      leaseDays: 14,
      graceDays: 3,
      seats: -1,
    });
  });
});
