// A hub whose database role does not own the schema: everything works, and the audit log is out of its reach.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type pg from 'pg';
import { ActorKind, AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import { RetentionService } from '../../../../gen/hub/retention/v1/retention_service_pb.ts';
import { hubctlHere } from '../../../cli/run-here.ts';
import { codeRows, readPage } from '../../../docs/markdown.ts';
import { startHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import {
  createSession,
  type Payments,
  pay,
  startPayments,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { activate, checkStatus } from '../../../support/network/rest.ts';
import { createDatabaseOfTwoRoles, query } from '../../../support/postgres/databases.ts';
import { CHANGES } from '../../access/changes.ts';

const AUDIT_TABLES = [
  'audit_entry',
  'audit_link',
  'audit_anchor',
  'audit_entry_default',
  'audit_link_default',
];

/** A migration that does no harm when it is applied again. */
const REPEATABLE = 'Migration20261125000001_partitions';

describe('a hub that serves with a role other than the owner of the schema', () => {
  let owner: string;
  let serving: string;
  let servingRole: string;
  let payments: Payments;

  const migrate = (...words: string[]) =>
    hubctlHere(['migration', 'apply', ...words], { DATABASE_URL: owner });

  before(async () => {
    ({ owner, serving } = await createDatabaseOfTwoRoles());
    servingRole = new URL(serving).username;
    const { code, stderr } = await migrate('--serving-role', servingRole);
    expect({ code, stderr }).to.deep.equal({
      code: 0,
      stderr: `Hubs can serve with the role ${servingRole}.\n`,
    });
    // Nothing listens there: the mails of a change fail later.
    const mail = { smtpUrl: 'smtp://127.0.0.1:9', mailFrom: { name: '', address: 'shop@example.com' } };
    payments = await startPayments({ settings: { databaseUrl: serving, ...mail } });
  });
  after(() => payments?.stop());

  for (const [rpc, { action, make }] of Object.entries(CHANGES)) {
    it(`performs ${rpc} and records it`, async () => {
      const audit = createClient(AuditService, payments.hub.transport);
      const before = (await audit.listAuditEntries({ action, pageSize: 1_000 })).entries.length;
      await make(payments);
      expect((await audit.listAuditEntries({ action, pageSize: 1_000 })).entries).to.have.length(before + 1);
    });
  }

  it('activates, settles, counts, prunes and verifies its audit log', async () => {
    const { hub } = payments;
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
    expect((await checkStatus(hub.gatewayUrl, licenseId, 'machine-1')).status).to.equal(200);
    for (const gateway of ['gateway_one', 'gateway_two'] as const) {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
    }
    await query(owner, `select make_month_partitions('audit_entry', '{2020-01-01}')`);
    const retention = createClient(RetentionService, hub.transport);
    const counted = await retention.pruneMonths({ before: '2020-02', dryRun: true });
    expect(counted.partitions.map(({ table, rows }) => [table, rows])).to.deep.include(['audit_entry', 0n]);
    await retention.pruneMonths({ before: '2020-02' });
    expect((await retention.pruneMonths({ before: '2020-02', dryRun: true })).partitions).to.deep.equal([]);
    expect((await createClient(AuditService, hub.transport).verifyAuditLog({})).ok).to.equal(true);
  });

  it('has exactly the table privileges that docs/operations/requirements.md lists', async () => {
    const rows = codeRows(readPage('docs/operations/requirements.md'));
    const listed = Object.fromEntries(rows.filter(([name = '']) => /^\w+$/.test(name)));
    expect(Object.keys(listed)).to.include.members(['audit_entry', 'hub_lock']);
    const tables = await query<{ name: string; privileges: string }>(
      owner,
      `select c.relname as name, coalesce(string_agg(p, ', ' order by n), '') as privileges
       from pg_class c
       cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) with ordinality each (p, n)
       where c.relkind in ('r', 'p') and has_table_privilege($1, c.oid, p)
         and c.relnamespace = current_schema()::regnamespace
       group by c.oid`,
      [servingRole],
    );
    expect(tables).to.have.length.above(20);
    for (const { name, privileges } of tables) {
      expect(privileges, name).to.equal(listed[name] ?? 'select, insert, update, delete');
    }
  });

  it('cannot change, truncate, alter or drop the audit log, or disable its guards', async () => {
    const statements = [
      ...AUDIT_TABLES.flatMap((table) => [
        `update ${table} set ${table.startsWith('audit_entry') ? "actor = 'Eve'" : "hash = ''"}`,
        `delete from ${table}`,
        `truncate ${table}`,
        `alter table ${table} disable trigger all`,
        `alter table ${table} add column note text`,
        `drop table ${table}`,
      ]),
      'alter table audit_entry detach partition audit_entry_default',
      'drop trigger audit_entry_append_only on audit_entry',
      'drop function audit_refuse_change() cascade',
      `create or replace function audit_refuse_change() returns trigger language plpgsql as 'begin return new; end'`,
      'set session_replication_role = replica',
      'delete from audit_key',
      'delete from audit_head',
      'delete from hub_migration',
      'create table note (text text)',
      `select audit_make_append_only('audit_entry')`,
      `select months_drop('2999-01-01')`,
      'drop schema public cascade',
    ];
    for (const statement of statements) {
      const answer = await query(serving, statement).then(
        () => 'done',
        (error: pg.DatabaseError) => error.code,
      );
      expect(answer, statement).to.be.oneOf(['42501', '22023']);
    }
  });

  it('cannot prune months of the audit log without an anchor', async () => {
    await query(owner, `select make_month_partitions('audit_link', '{2020-03-01}')`);
    await query(
      owner,
      `insert into audit_link (seq, entry_id, linked_at, hash)
       values (999999, partition_floor('2020-03-01'), now(), '')`,
    );
    await query(owner, `grant temporary on database ${new URL(owner).pathname.slice(1)} to ${servingRole}`);
    for (const first of ['', 'create temp table audit_link (seq bigint, entry_id uuid);']) {
      const drop = `${first} select months_drop('2020-04-01')`;
      const answer = await query(serving, drop).catch((error) => error.message);
      expect(answer).to.equal('the audit chain has no anchor for these months');
    }
    await query(owner, 'drop table audit_link_2020_03');
  });

  it('gets new privileges at the next migration, which the log records', async () => {
    await query(owner, `revoke all on charge_session from ${servingRole}`);
    await query(owner, `delete from hub_migration where name = '${REPEATABLE}'`);
    expect((await migrate()).code).to.equal(0);
    expect(await query(serving, 'select from charge_session limit 0')).to.deep.equal([]);
    const audit = createClient(AuditService, payments.hub.transport);
    const [entry] = (await audit.listAuditEntries({ action: 'schema.migrate' })).entries;
    expect(entry).to.deep.include({
      actor: 'hubctl migration apply',
      actorKind: ActorKind.LOCAL,
      subject: REPEATABLE,
      after: { last: REPEATABLE },
    });
  });

  it('is refused if it could change the log or does not exist', async () => {
    const owning = await migrate('--serving-role', new URL(owner).username);
    expect(owning).to.include({ code: 1 });
    expect(owning.stderr).to.contain('is a superuser or owns the schema');
    expect((await migrate('--serving-role', 'nobody_knows')).stderr).to.contain(
      'there is no role "nobody_knows"',
    );
  });

  it('does not start before the owner has migrated the schema', async () => {
    const { serving: empty } = await createDatabaseOfTwoRoles();
    const directory = await mkdtemp(join(tmpdir(), 'hub-test-'));
    const failed = await startHub({ settings: { databaseUrl: empty } }).catch((error: Error) => error);
    await rm(directory, { recursive: true });
    expect(failed).to.have.property('message').that.contains('run hubctl migration apply as the owner of');
  });
});
