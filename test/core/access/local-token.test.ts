// The admin token in the data directory: its role, its permissions, and its replacement.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { newServiceToken } from '../../../core/access/token-format.ts';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';

describe('local admin token', () => {
  let hub: TestHub;
  const stops: (() => Promise<void>)[] = [];
  const startBeside = async (): Promise<TestHub> => {
    const next = await startHub({ beside: hub });
    stops.push(() => next.stop());
    return next;
  };
  const file = () => join(hub.dataDir, 'admin-token');
  const tokenInFile = async () => (await readFile(file(), 'utf8')).trim();
  const roleOf = async (token: string) =>
    (await createClient(AccessService, transportTo(hub.rpcUrl, token)).getCaller({})).role;

  beforeEach(async () => {
    hub = await startHub();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await hub.stop();
  });

  it('is in a file that only its owner can read, and has the role admin', async () => {
    expect((await stat(file())).mode & 0o777).to.equal(0o600);
    expect(await tokenInFile()).to.match(/^hub_\w{26}_[\w-]{43}$/);
    expect(await roleOf(await tokenInFile())).to.equal(Role.ADMIN);
  });

  it('is stored in the database as a hash only', async () => {
    const [row] = await query<{ line: string; hash: Buffer }>(
      hub.databaseUrl,
      'select service_token::text as line, token_hash as hash from service_token',
    );
    expect(row?.hash).to.have.length(32);
    expect(row?.line).to.not.include(hub.token);
    expect(row?.line).to.not.include(Buffer.from(hub.token).toString('hex'));
  });

  it('stays the same over restarts', async () => {
    const next = await startBeside();
    expect(next.token).to.equal(hub.token);
    const rows = await query(hub.databaseUrl, 'select id from service_token');
    expect(rows).to.have.length(1);
  });

  it('is replaced at the next start after it is revoked', async () => {
    await query(hub.databaseUrl, 'update service_token set revoked_at = now()');
    const next = await startBeside();
    expect(next.token).to.not.equal(hub.token);
    expect(await tokenInFile()).to.equal(next.token);
    expect((await stat(file())).mode & 0o777).to.equal(0o600);
    expect(await roleOf(next.token)).to.equal(Role.ADMIN);
    const refused = await roleOf(hub.token).catch(ConnectError.from);
    expect(refused).to.be.instanceOf(ConnectError).with.property('code', Code.Unauthenticated);
  });

  it('is replaced at the next start after it has expired', async () => {
    await query(hub.databaseUrl, `update service_token set expires_at = now() - interval '1 second'`);
    const next = await startBeside();
    expect(await roleOf(next.token)).to.equal(Role.ADMIN);
  });

  it('is never a token with another role', async () => {
    await query(hub.databaseUrl, `update service_token set role = 'viewer'`);
    const next = await startBeside();
    expect(await roleOf(next.token)).to.equal(Role.ADMIN);
  });

  it('is recorded in the audit log, except the first', async () => {
    const recorded = () =>
      query(
        hub.databaseUrl,
        `select actor, subject, before, after from audit_entry where action = 'token.create' order by id`,
      );
    await startBeside();
    expect(await recorded()).to.deep.equal([]);
    await query(hub.databaseUrl, 'update service_token set revoked_at = now()');
    const { token } = await startBeside();
    const row = { actor: 'hub', before: null, after: { name: 'local admin', role: 'admin' } };
    expect(await recorded()).to.deep.equal([{ ...row, subject: subjectOf(token) }]);
    const brought = newServiceToken();
    await writeFile(file(), `${brought}\n`);
    expect((await startBeside()).token).to.equal(brought);
    expect((await recorded()).at(-1)).to.deep.equal({ ...row, subject: subjectOf(brought) });
  });

  it('is replaced if the file is empty', async () => {
    await writeFile(file(), '\n');
    const next = await startBeside();
    expect(await tokenInFile()).to.equal(next.token);
    expect(await roleOf(next.token)).to.equal(Role.ADMIN);
  });
});

function subjectOf(token: string): string {
  return `tok_${token.split('_')[1]}`;
}
