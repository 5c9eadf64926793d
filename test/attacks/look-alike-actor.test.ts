// Somebody names a token like another one, or like the hub itself, so that the audit log seems to say that they did it.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { ActorKind, AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { failureOf } from '../core/rpc/failure-of.ts';
import { startHub, type TestHub, transportTo } from '../support/hub/hub.ts';
import { createApp, issueLicense } from '../support/hub/license.ts';
import { query } from '../support/postgres/databases.ts';

describe('a token that imitates another actor', () => {
  let hub: TestHub;
  const log: string[] = [];
  before(async () => {
    hub = await startHub({ log: { write: (line) => log.push(line) } });
  });
  after(() => hub.stop());

  const tokens = () => createClient(TokenService, hub.transport);
  const audit = () => createClient(AuditService, hub.transport);
  const createOperator = async () => {
    const { serviceToken, token } = await tokens().createToken({ role: Role.OPERATOR });
    return { tokenId: serviceToken?.tokenId ?? '', token };
  };
  const issueAs = (token: string, app: string) =>
    issueLicense(createClient(LicenseAdminService, transportTo(hub.rpcUrl, token)), { app });

  for (const name of [
    'hub',
    'Settlement',
    ' sweep ',
    'ＨＵＢ',
    'settle\u200bment',
    'local-admin',
    'hubctl backup restore',
    's.e.t.t.l.e.m.e.n.t',
    'settle ment',
    'séttlement',
    'HUBCTL_migration_apply',
  ]) {
    it(`cannot be named ${JSON.stringify(name)}`, async () => {
      const error = await failureOf(tokens().createToken({ name, role: Role.OPERATOR }));
      const [detail] = error.findDetails(ErrorDetailSchema);
      expect(detail).to.include({ code: 'token_name_reserved', field: 'name' });
      expect(error.rawMessage).to.contain('choose another');
    });
  }

  it('may have a name that only contains a reserved one', async () => {
    const { serviceToken } = await tokens().createToken({ name: 'hub watcher', role: Role.VIEWER });
    expect(serviceToken?.name).to.equal('hub watcher');
  });

  it('is distinguished from another one with the same name by its id, in the audit log and the request log', async () => {
    const app = await createApp(hub.admin);
    const [one, two] = [await createOperator(), await createOperator()];
    await issueAs(one.token, app);
    await issueAs(two.token, app);
    const { entries } = await audit().listAuditEntries({ action: 'license.issue', actor: 'operator' });
    expect(entries.map(({ actorTokenId }) => actorTokenId)).to.have.members([one.tokenId, two.tokenId]);
    expect(new Set(entries.map(({ actorKind }) => actorKind))).to.deep.equal(new Set([ActorKind.TOKEN]));
    const ofOne = (await audit().listAuditEntries({ actorTokenId: one.tokenId })).entries;
    expect(ofOne.map(({ action }) => action)).to.deep.equal(['license.issue']);
    const line = log.find((each) => each.includes('IssueLicenses') && each.includes(two.tokenId));
    expect(JSON.parse(line ?? '{}')).to.include({ caller: 'operator', callerKind: 'token' });
  });

  it('is distinguished from the hub itself by its kind, whatever its name', async () => {
    const app = await createApp(hub.admin);
    const { tokenId, token } = await createOperator();
    // As a token from before names were reserved.
    await query(hub.databaseUrl, `update service_token set name = 'settlement' where name = 'operator'`);
    await issueAs(token, app);
    const named = (await audit().listAuditEntries({ actor: 'settlement' })).entries;
    expect(named).to.have.length(1);
    expect(named[0]).to.include({ actorKind: ActorKind.TOKEN, actorTokenId: tokenId });
    const { entries } = await audit().listAuditEntries({ actorKind: ActorKind.HUB });
    // The hub itself creates the secret of the first license key.
    expect(entries.map(({ action }) => action)).to.deep.equal(['key_secret.create']);
    expect((await audit().listAuditEntries({ actorTokenId: 'no token' })).entries).to.deep.equal([]);
  });
});
