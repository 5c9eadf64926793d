// The commands, run as a person would against a hub.
import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { hubctlHere, type Printed } from '../run-here.ts';

describe('hubctl with a hub', () => {
  let hub: TestHub;
  const run = (...args: string[]): Promise<Printed> =>
    hubctlHere(args, { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  /** A fresh app of its own for each test. */
  const createApp = async () => {
    const slug = `app-${randomUUID().slice(0, 8)}`;
    await hub.admin.createApp({ slug, name: '' });
    return slug;
  };
  const issue = async (app: string, customer = 'Ada') => {
    const { licenses } = await hub.admin.issueLicenses({ app, seatLimit: 2, customer });
    const licenseId = licenses[0]?.license?.licenseId;
    if (licenseId === undefined) throw new Error('no license was issued');
    return licenseId;
  };

  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('creates, lists and shows apps', async () => {
    const slug = `app-${randomUUID().slice(0, 8)}`;
    const created = await run('app', 'create', slug, '--name', 'Photo Lab');
    expect(created).to.include({ code: 0, stderr: '' });
    expect(created.stdout)
      .to.match(new RegExp(`^App +${slug}\nName +Photo Lab\n`))
      .and.contain('active');

    const [list, shown] = await Promise.all([json('app', 'list'), json('app', 'show', slug)]);
    expect(list.map((app: { slug: string }) => app.slug)).to.include(slug);
    expect(shown).to.have.all.keys('slug', 'name', 'appId', 'createdAt', 'defaultTerms', 'signingKeys');
    expect(shown.signingKeys[0]).to.have.all.keys('kid', 'state', 'createdAt', 'publicKeyPem');
  });

  it('rotates the signing key and withdraws the retired one', async () => {
    const slug = await createApp();
    const rotated = await json('app', 'rotate-key', slug);
    const states = (app: { signingKeys: { state: string }[] }) => app.signingKeys.map((key) => key.state);
    expect(states(rotated)).to.deep.equal(['active', 'retired']);
    const withdrawn = await json('app', 'withdraw-key', slug, rotated.signingKeys[1].kid, '--yes');
    expect(states(withdrawn)).to.deep.equal(['active', 'withdrawn']);
  });

  it('sets and lists limit profiles', async () => {
    const slug = await createApp();
    const set = await run('profile', 'set', slug, 'pro', 'projects=unlimited', 'exports=1000');
    expect(set.stdout).to.contain('exports=1000 projects=unlimited');
    expect(await json('profile', 'list', slug)).to.deep.equal([
      { app: slug, name: 'pro', limits: { exports: 1000, projects: -1 } },
    ]);
  });

  it('filters licenses by app, state and customer, and stops at --max', async () => {
    const app = await createApp();
    const ids = [await issue(app, 'Ada'), await issue(app, 'Bob'), await issue(app, 'Bob')];
    await hub.admin.revokeLicense({ licenseId: ids[0] ?? '', reason: 'test' });
    const found = async (...filter: string[]) =>
      (await json('license', 'list', '--app', app, ...filter)).map(
        (item: { licenseId: string }) => item.licenseId,
      );
    const [all, revoked, bobs, newest] = await Promise.all([
      found(),
      found('--state', 'revoked'),
      found('--customer', 'Bob'),
      found('--max', '1'),
    ]);
    expect(all).to.deep.equal(ids.toReversed());
    expect(revoked).to.deep.equal([ids[0]]);
    expect(bobs).to.deep.equal([ids[2], ids[1]]);
    expect(newest).to.deep.equal([ids[2]]);
  });

  it('revokes with --yes and reinstates', async () => {
    const licenseId = await issue(await createApp());
    const unasked = await run('license', 'revoke', licenseId, '--reason', 'refunded');
    expect(unasked.code).to.equal(2);
    expect(await json('license', 'show', licenseId)).to.include({ state: 'active', seats: 2, seatsUsed: 0 });

    const revoked = await json('license', 'revoke', licenseId, '--reason', 'refunded', '--yes');
    expect(revoked).to.include({ state: 'revoked', revokeReason: 'refunded' });
    expect(await json('license', 'reinstate', licenseId))
      .to.include({ state: 'active' })
      .and.not.to.have.key('revokedAt');
  });

  it('seeds a demo license that activates machines, lists their seats and releases them', async () => {
    const demo = await json('app', 'seed');
    expect(demo)
      .to.have.all.keys('app', 'licenseId', 'licenseKey', 'seats')
      .and.include({ app: 'demo', seats: 3 });
    const machineFingerprint = createHash('sha256').update(randomUUID()).digest('hex');
    const activation = await fetch(`${hub.gatewayUrl}/v1/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ licenseKey: demo.licenseKey, machineFingerprint, machineLabel: 'Desk' }),
    });
    expect(activation.status).to.equal(200);

    const [seat, ...others] = await json('seat', 'list', demo.licenseId);
    expect(others).to.deep.equal([]);
    expect(seat).to.include({ state: 'active', machineFingerprint, machineLabel: 'Desk' });
    expect(await json('seat', 'release', seat.seatId)).to.include({ state: 'released' });
    expect(await json('seat', 'list', demo.licenseId)).to.deep.equal([]);
    expect(await json('seat', 'list', demo.licenseId, '--all')).to.have.length(1);
  });

  it('can seed the demo again: it keeps the app and issues another license', async () => {
    const first = await json('app', 'seed');
    const second = await json('app', 'seed');
    expect(second.licenseId).not.to.equal(first.licenseId);
  });

  it("prints the hub's errors with their codes, and exits with 1", async () => {
    const missing = `app-${randomUUID().slice(0, 8)}`;
    const [asText, asJson] = await Promise.all([
      run('app', 'show', missing),
      run('--output', 'json', 'app', 'show', missing),
    ]);
    expect(asText).to.include({ code: 1, stdout: '' });
    expect(asText.stderr).to.match(/^hubctl: .+\n$/);
    expect(asJson).to.include({ code: 1, stdout: '' });
    expect(JSON.parse(asJson.stderr).error).to.include({ code: 'app_unknown' });
  });

  it('names the options that violate a validation rule, one line each', async () => {
    const { code, stderr } = await run(
      'key',
      'issue',
      '--app',
      'demo',
      '--lease-days',
      '36501',
      '--limit',
      '9=1',
    );
    expect(code).to.equal(2);
    expect(stderr).to.match(/^hubctl: --limit 9: .+\n +--lease-days: .+\n$/);
  });

  it('names the source of a refused token, never the token, and exits with 4', async () => {
    const server = ['--server', hub.rpcUrl];
    const [none, wrong] = await Promise.all([
      hubctlHere(['app', 'list', ...server]),
      hubctlHere(['app', 'list', ...server, '--token', 'not-the-token']),
    ]);
    expect(none).to.include({ code: 4, stdout: '' });
    expect(none.stderr).to.contain('requires a token').and.contain('HUBCTL_TOKEN');
    expect(wrong).to.include({ code: 4, stdout: '' });
    expect(wrong.stderr).to.contain('the token from --token').and.not.to.contain('not-the-token');
  });

  it('accepts global options before and after the command', async () => {
    const given = ['--server', hub.rpcUrl, '--token', hub.token, '--output', 'json'];
    const results = await Promise.all([
      hubctlHere([...given, 'app', 'list']),
      hubctlHere(['app', ...given, 'list']),
      hubctlHere(['app', 'list', ...given]),
    ]);
    for (const { code, stdout } of results) {
      expect(code).to.equal(0);
      expect(JSON.parse(stdout)).to.be.an('array');
    }
  });
});
