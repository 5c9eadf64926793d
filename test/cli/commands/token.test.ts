// hubctl token, run as a person would against a hub.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { hubctlHere, type Printed } from '../run-here.ts';

describe('hubctl token', () => {
  let hub: TestHub;
  const runAs = (token: string, ...args: string[]): Promise<Printed> =>
    hubctlHere(args, { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: token });
  const run = (...args: string[]) => runAs(hub.token, 'token', ...args);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('creates a working token, and prints its id and the token', async () => {
    const made = await json('create', '--role', 'viewer');
    expect(Object.keys(made).slice(0, 2)).to.deep.equal(['tokenId', 'token']);
    expect(made).to.include({ name: 'viewer', role: 'viewer' });
    expect(await runAs(made.token, 'app', 'list')).to.include({ code: 0 });
    const refused = await runAs(made.token, 'app', 'create', 'other');
    expect(refused).to.include({ code: 4, stdout: '' });
  });

  it('creates a token for one app with an expiry, and lists it without its secret', async () => {
    const [app, other] = [await createApp(hub.admin), await createApp(hub.admin)];
    const made = await json(
      ...['create', '--role', 'operator', '--name', 'support', '--app', app, '--expires', '2999-12-31'],
    );
    expect(made).to.deep.include({ apps: [app], slots: [], expiresAt: '2999-12-31T23:59:59.999Z' });
    expect(await runAs(made.token, 'app', 'show', app)).to.include({ code: 0 });
    const elsewhere = await runAs(made.token, 'app', 'show', other);
    expect(elsewhere).to.include({ code: 1, stdout: '' });
    expect(elsewhere.stderr).to.contain('the scope of this token has no such app');

    const listed = await run('list');
    expect(listed.stdout).to.match(
      new RegExp(`^${made.tokenId} +support +operator +app:${app} .*2999-12-31T23:59:59Z`, 'm'),
    );
    expect(listed.stdout).to.not.contain(made.token.slice(-43));
  });

  it('revokes a token by its id', async () => {
    const made = await json('create', '--role', 'service');
    expect(await json('revoke', made.tokenId, '--yes')).to.have.property('revokedAt');
    expect(await runAs(made.token, 'app', 'list')).to.include({ code: 4 });
    const ids = (list: { tokenId: string }[]) => list.map(({ tokenId }) => tokenId);
    expect(ids(await json('list'))).to.not.include(made.tokenId);
    expect(ids(await json('list', '--all'))).to.include(made.tokenId);
  });

  it('lets a certificate replace a token, and prints none', async () => {
    const made = await json('create', '--role', 'service', '--certificate-subject', 'CN=shop,O=Example');
    expect(made).to.include({ certificateSubject: 'CN=shop,O=Example' });
    expect(made).to.not.have.property('token');
  });

  it('names wrong values by their options', async () => {
    const apps = await run('create', '--role', 'viewer', '--app', 'missing', '--output', 'json');
    expect(JSON.parse(apps.stderr).error).to.include({ code: 'app_unknown', field: '--app' });
    const subject = await run('create', '--role', 'viewer', '--certificate-subject', 'shop');
    expect(subject).to.include({ code: 2 });
    expect(subject.stderr).to.contain('--certificate-subject: must be the subject of a certificate');
    expect((await run('create')).stderr).to.contain('--role');
    expect((await run('create', '--role', 'king')).code).to.equal(2);
  });

  it('refuses to revoke the last admin', async () => {
    const { tokenId } = await createClient(AccessService, transportTo(hub.rpcUrl, hub.token)).getCaller({});
    const refused = await run('revoke', tokenId, '--yes');
    expect(refused).to.include({ code: 1 });
    expect(refused.stderr).to.contain('create another');
    const { role } = await createClient(AccessService, hub.transport).getCaller({});
    expect(role).to.equal(Role.ADMIN);
  });
});
