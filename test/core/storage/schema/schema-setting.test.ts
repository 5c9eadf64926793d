// A hub in a schema of its own, with a role that may create there and nowhere else.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { openQuietly } from '../../../../cli/backup/local-database.ts';
import { HUB } from '../../../../core/audit/record.ts';
import { systemClock } from '../../../../core/clock.ts';
import { JOB_TABLES } from '../../../../core/payment/callbacks/job-queue.ts';
import { migrateSchema } from '../../../../core/prepare-schema.ts';
import { AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import { RetentionService } from '../../../../gen/hub/retention/v1/retention_service_pb.ts';
import { hubctlHere } from '../../../cli/run-here.ts';
import { discard, makeDataDir } from '../../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { createSession, pay, startPayments, untilStatus } from '../../../support/hub/payment.ts';
import { activate } from '../../../support/network/rest.ts';
import { asSuperuser, createDatabase, query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const EVERYWHERE = `
  select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

describe('a hub in a schema of its own', () => {
  let directory: string;
  let admin: string;
  const roles: [string, string][] = [];
  before(async () => {
    directory = await makeDataDir();
  });
  beforeEach(async () => {
    admin = asSuperuser(await createDatabase());
  });
  after(async () => {
    for (const [url, role] of roles) await query(url, `drop owned by ${role} cascade; drop role ${role}`);
    await discard(directory);
  });

  /** The address of a new role, which may do nothing but connect. */
  async function plainRole(database = admin): Promise<{ url: string; role: string }> {
    const role = `plain_${randomBytes(4).toString('hex')}`;
    const { pathname } = new URL(database);
    await query(database, `create role ${role} login password 'x'`);
    await query(database, `grant connect on database ${pathname.slice(1)} to ${role}`);
    roles.push([database, role]);
    const url = new URL(database);
    [url.username, url.password] = [role, 'x'];
    return { url: url.href, role };
  }

  const pathTo = (role: string, schema: string) =>
    query(
      admin,
      `alter role ${role} in database ${new URL(admin).pathname.slice(1)} set search_path = ${schema}, public`,
    );

  const verifies = async (hub: TestHub) =>
    (await createClient(AuditService, hub.transport).verifyAuditLog({})).ok;

  const WAYS = {
    'the setting names': async (role: string) => {
      await query(admin, `create schema "Hub-2"; grant usage, create on schema "Hub-2" to ${role}`);
      return 'Hub-2';
    },
    "the role's search path begins with": async (role: string) => {
      await query(admin, `create schema hub authorization ${role}`);
      await pathTo(role, 'hub');
      return undefined;
    },
  };
  for (const [way, prepare] of Object.entries(WAYS)) {
    it(`that ${way} starts repeatedly and works only in that schema`, async () => {
      const { url, role } = await plainRole();
      const databaseSchema = await prepare(role);
      const schema = databaseSchema ?? 'hub';
      // Another hub's table, which is not this one's.
      await query(
        admin,
        `create table public.hub_migration (name text); grant select on hub_migration to public`,
      );
      const payments = await startPayments({ settings: { databaseUrl: url, databaseSchema } });
      const { hub } = payments;
      const { licenseKey } = await issueLicense(hub.admin);
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
      const session = await createSession(payments, 'gateway_one');
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
      await query(
        admin,
        `insert into "${schema}".callback (id, gateway, fields, received_at, state, reason, attempts)
        values (gen_random_uuid(), 'gateway_one', '{}', now() - interval '1 hour', 'received', '', 0)`,
      );
      await until(
        async () =>
          (await query(admin, `select from "${schema}".callback where state = 'received'`)).length === 0,
        'a job deals with the callback',
        30_000,
      );
      const retention = createClient(RetentionService, hub.transport);
      await query(
        admin,
        `set search_path to "${schema}"; select make_month_partitions('callback', '{2020-01-01}')`,
      );
      const { partitions } = await retention.pruneMonths({ before: '2020-02' });
      expect(partitions.map(({ table }) => table)).to.deep.equal(['callback']);
      const again = await startHub({ settings: { databaseSchema }, beside: hub });
      expect((await activate(again.gatewayUrl, licenseKey, 'machine-2')).status).to.equal(200);
      expect(await verifies(again)).to.equal(true);
      await again.stop();
      await payments.stop();

      const relations = await query<{ schema: string; name: string }>(admin, EVERYWHERE);
      const elsewhere = relations.filter((each) => each.schema !== schema);
      expect(elsewhere).to.deep.equal([{ schema: 'public', name: 'hub_migration' }]);
      const names = relations.map(({ name }) => name);
      expect(names).to.include.members([...JOB_TABLES]);
      expect(names.filter((name) => /^callback_\d{4}_\d\d$/.test(name))).to.have.length(4);
    });
  }

  /** What `hubctl migration apply` does; the message if that is refused. */
  async function migrate(url: string, schema?: string): Promise<string> {
    try {
      const db = await openQuietly({ url, schema });
      await migrateSchema({ db, actor: HUB, clock: systemClock }).finally(() => db.close());
      return 'applied';
    } catch (error) {
      return (error as Error).message;
    }
  }

  it('is created by a role with the privilege; otherwise the error shows the statement to run', async () => {
    const { url, role } = await plainRole();
    expect(await migrate(url, 'hub')).to.contain(`create schema "hub" authorization "${role}"`);
    expect(await migrate(url))
      .to.contain('HUB_DATABASE_SCHEMA')
      .and.contain(`grant usage, create on schema "public" to "${role}"`);
    await pathTo(role, 'missing');
    await query(admin, 'revoke usage on schema public from public');
    expect(await migrate(url)).to.contain(
      "no schema of the role's search path (missing, public) exists: create one, or name one in HUB_DATABASE_SCHEMA",
    );
    await query(admin, `grant create on database ${new URL(admin).pathname.slice(1)} to ${role}`);
    expect(await Promise.all([migrate(url, 'hub'), migrate(url, 'hub')])).to.deep.equal([
      'applied',
      'applied',
    ]);
    expect((await query<{ schema: string }>(admin, EVERYWHERE)).map(({ schema }) => schema)).not.to.include(
      'public',
    );
  });

  it('named like the role does not hide the tables in public', async () => {
    const { url, role } = await plainRole();
    await query(admin, `grant create on schema public to ${role}`);
    expect(await migrate(url)).to.equal('applied');
    await query(admin, `create schema ${role} authorization ${role}`);
    expect(await migrate(url)).to.contain('set HUB_DATABASE_SCHEMA to public for that hub');
    expect(await migrate(url, 'public')).to.equal('applied');
    expect(await migrate(url, role)).to.equal('applied');
  });

  it('is backed up and restored into a schema with another name', async () => {
    const { url, role } = await plainRole();
    await query(admin, `create schema one authorization ${role}`);
    const payments = await startPayments({ settings: { databaseUrl: url, databaseSchema: 'one' } });
    const { licenseKey } = await issueLicense(payments.hub.admin);
    await activate(payments.hub.gatewayUrl, licenseKey, 'machine-1');
    const [file, passphrase] = [join(directory, 'hub.age'), join(directory, 'passphrase')];
    await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
    const from = { DATABASE_URL: url, HUB_DATABASE_SCHEMA: 'one', HUB_DATA_DIR: payments.hub.dataDir };
    const created = await hubctlHere(
      ['backup', 'create', '--out', file, '--passphrase-file', passphrase],
      from,
    );
    expect({ code: created.code, stderr: created.stderr }).to.deep.equal({ code: 0, stderr: '' });
    await payments.stop();

    const target = asSuperuser(await createDatabase());
    const other = await plainRole(target);
    await query(target, `create schema two authorization ${other.role}`);
    const dataDir = join(directory, 'restored');
    const into = { DATABASE_URL: other.url, HUB_DATABASE_SCHEMA: 'two', HUB_DATA_DIR: dataDir };
    const restored = await hubctlHere(['backup', 'restore', file, '--passphrase-file', passphrase], into);
    expect(restored.code, restored.stderr).to.equal(0);
    const beside = { dataDir, databaseUrl: other.url };
    const hub = await startHub({ settings: { databaseSchema: 'two' }, beside });
    expect(await verifies(hub)).to.equal(true);
    expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
    const doctor = await hubctlHere(['doctor', '--output', 'json'], into);
    expect(doctor.stdout).not.to.contain('"failed"');
    await hub.stop();
    expect((await query<{ schema: string }>(target, EVERYWHERE)).map(({ schema }) => schema)).not.to.include(
      'public',
    );
  });

  it('is served by a role that owns nothing in it', async () => {
    const [owner, serving] = [await plainRole(), await plainRole()];
    await query(admin, `create schema hub authorization ${owner.role}`);
    const migrated = await hubctlHere(['migration', 'apply', '--serving-role', serving.role], {
      DATABASE_URL: owner.url,
      HUB_DATABASE_SCHEMA: 'hub',
    });
    expect(migrated.code, migrated.stderr).to.equal(0);
    const payments = await startPayments({ settings: { databaseUrl: serving.url, databaseSchema: 'hub' } });
    for (const gateway of ['gateway_one', 'gateway_two'] as const) {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
    }
    expect(await verifies(payments.hub)).to.equal(true);
    await payments.stop();
  });

  it('stores its jobs there, even if an earlier version used a schema of their own', async () => {
    const settings = { databaseUrl: admin, masterKey: randomBytes(32).toString('base64') };
    const hub = await startHub({ settings });
    await hub.stop();
    await query(
      admin,
      `create schema job;
       do $$ declare each record; begin
         for each in select tablename as name from pg_tables where tablename = any ('{${JOB_TABLES}}') loop
           execute format('alter table %I set schema job', each.name);
         end loop;
         for each in select oid::regprocedure as name from pg_proc
           where proname ~ '^(job_now|job_table_\\w+|create_queue|delete_queue)$' loop
           execute format('alter function %s set schema job', each.name);
         end loop;
       end $$;
       alter type job_state set schema job;
       insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values ('00000000-0000-7000-8000-000000000001', 'gateway_one', '{}', now(), 'received', '', 0);
       insert into job.job (name, id, data)
       values ('callback', '00000000-0000-7000-8000-000000000001',
               '{"callbackId": "00000000-0000-7000-8000-000000000001"}')`,
    );
    const upgraded = await startHub({ settings });
    await until(
      async () => (await query(admin, `select from callback where state = 'received'`)).length === 0,
      'the callback of an earlier job is dealt with',
      30_000,
    );
    await upgraded.stop();
    expect(await query(admin, `select from public.job where name = 'callback'`)).to.have.length(1);
  });

  it('is named in the error if a name that the hub needs is taken', async () => {
    await query(admin, 'create table queue (id int)');
    expect(await migrate(admin))
      .to.contain('"queue" already exists')
      .and.contain('HUB_DATABASE_SCHEMA');
  });
});
