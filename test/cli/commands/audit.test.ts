// The audit commands, run as a person would against a hub.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { asSuperuser, query } from '../../support/postgres/databases.ts';
import { hubctlHere, type Printed } from '../run-here.ts';

describe('hubctl audit', () => {
  let hub: TestHub;
  const run = (...args: string[]): Promise<Printed> =>
    hubctlHere(['audit', ...args], { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  const lines = (text: string) => text.trimEnd().split('\n');

  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('lists changes by subject, actor, action and time, newest first', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    await hub.admin.revokeLicense({ licenseId, reason: 'not paid' });
    await hub.admin.reinstateLicense({ licenseId });
    const about = await json('list', '--subject', licenseId);
    expect(about.map(({ action }: { action: string }) => action)).to.deep.equal([
      'license.reinstate',
      'license.revoke',
    ]);
    const { auditEntryId, at, requestId, ...revoked } = about[1];
    expect(auditEntryId).to.match(/^aud_[0-9a-z]{26}$/);
    expect(requestId).to.match(/^[0-9a-f-]{36}$/);
    expect(revoked).to.deep.equal({
      actor: 'local admin',
      actorKind: 'token',
      actorTokenId: `tok_${hub.token.split('_')[1]}`,
      action: 'license.revoke',
      subject: licenseId,
      before: { state: 'active' },
      after: { state: 'revoked', reason: 'not paid' },
      detail: {},
    });
    const period = [
      '--from',
      at,
      '--to',
      '2999-01-01',
      '--action',
      'license.revoke',
      '--actor',
      'local admin',
    ];
    expect(await json('list', ...period, '--max', '5')).to.deep.equal([about[1]]);
    const { actorTokenId } = revoked;
    const by = ['--token-id', actorTokenId, '--actor-kind', 'token'];
    expect(await json('list', '--subject', licenseId, ...by)).to.deep.equal(about);
    expect(await json('list', '--subject', licenseId, '--actor-kind', 'hub')).to.deep.equal([]);
    expect(await json('list', '--token-id', `tok_${'0'.repeat(26)}`)).to.deep.equal([]);
    expect(await json('list', '--subject', licenseId, '--to', at)).to.deep.equal([]);
    const text = await run('list', '--subject', licenseId);
    expect(text.stdout).to.contain('state=revoked reason="not paid"');
  });

  it('exports the chain as the same JSON lines each time, also from a link on', async () => {
    for (let index = 0; index < 3; index++) await createApp(hub.admin);
    const file = join(hub.dataDir, 'audit.jsonl');
    const { exported } = await json('export', '--out', file);
    const first = await readFile(file, 'utf8');
    expect(lines(first)).to.have.length(exported);
    await createApp(hub.admin);
    const { stdout } = await run('export');
    expect(stdout.startsWith(first)).to.equal(true);
    const entries = lines(stdout).map((line) => JSON.parse(line));
    expect(entries.map(({ seq }) => seq)).to.deep.equal(entries.map((_, index) => index + 1));
    expect(entries.at(-1)).to.include({ seq: exported + 1, action: 'app.create' });
    const hashes = entries.map(({ hash }) => hash);
    expect(entries.map(({ previousHash }) => previousHash)).to.deep.equal([
      '0'.repeat(64),
      ...hashes.slice(0, -1),
    ]);
    const rest = await run('export', '--after', String(exported));
    expect(rest.stdout).to.equal(`${lines(stdout).at(-1)}\n`);
  });

  it('exports nothing as an empty file, also in place of an older export', async () => {
    const last = lines((await run('export')).stdout).length;
    const after = ['--after', String(last)];
    const file = join(hub.dataDir, 'empty.jsonl');
    expect(await json('export', ...after, '--out', file)).to.deep.equal({ file, exported: 0 });
    expect(await readFile(file, 'utf8')).to.equal('');
    const refused = await run('export', ...after, '--out', file);
    expect(refused).to.include({ code: 2, stdout: '' });
    expect(lines(refused.stderr)).to.deep.equal([
      `hubctl: ${file} exists. Give another file with --out, or overwrite it with --force.`,
    ]);
    await writeFile(file, 'an older export\n');
    expect(await json('export', ...after, '--out', file, '--force')).to.deep.equal({ file, exported: 0 });
    expect(await readFile(file, 'utf8')).to.equal('');
    expect(await run('export', ...after)).to.deep.equal({ code: 0, stdout: '', stderr: '' });
  });

  it('verifies the chain with exit code 0, and names the first broken row with exit code 1', async () => {
    for (let index = 0; index < 3; index++) await createApp(hub.admin);
    const noted = await json('verify');
    expect(noted).to.include({ ok: true });
    expect(noted.head).to.match(new RegExp(`^${noted.entries}:[0-9a-f]{64}$`));
    await createApp(hub.admin);
    expect(await json('verify', '--head', noted.head)).to.include({ ok: true, entries: noted.entries + 1 });
    expect((await run('verify', '--head', 'nonsense')).stderr).to.match(
      /^hubctl: --head: must be the number/,
    );

    await query(
      asSuperuser(hub.databaseUrl),
      `alter table audit_entry disable trigger user;
       update audit_entry set actor = 'Eve' where id = (select entry_id from audit_link where seq = 2)`,
    );
    const { code, stdout, stderr } = await run('verify', '--output', 'json');
    expect(code).to.equal(1);
    const told = JSON.parse(stdout);
    expect(told).to.deep.include({ ok: false, entries: 1 });
    expect(told.broken).to.deep.include({ problem: 'row_altered', seq: 2 });
    expect(JSON.parse(stderr).error.message).to.contain(told.broken.auditEntryId).and.contain('link 2');
    expect((await run('verify')).stderr).to.contain('The audit log is not intact (row_altered at link 2');
  });
});
